/** How the commands of a service access are done. */
import { Effect, Schema } from "effect"
import { type ServiceAccessContext, serviceAccessMachine } from "../../machines/serviceAccess.ts"
import { Reason } from "../../schemas/Sandbox.ts"
import type { ActorDefinition, AnyEvent, CommandScope } from "../actor/ActorDefinition.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"

/** A context as it is stored: held against what is loaded. */
const context = Schema.Struct({
  generationId: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  generation: Schema.Number,
  ports: Schema.Array(Schema.Number),
  requestedAt: Schema.Number,
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  endedAt: Schema.NullOr(Schema.Number),
  client: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Reason),
  cleanup: Schema.NullOr(Schema.Literals(["confirmed", "unconfirmed"]))
})

export const serviceAccessDefinition = Effect.gen(function* () {
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach

  const interpret = (
    command: PendingCommand,
    scope: CommandScope<ServiceAccessContext>
  ): Effect.Effect<AnyEvent | null> => {
    const { id, context } = scope.state()
    switch (command.type) {
      case "confirmSandbox":
        return reach.confirmation(context)
      case "cutOtherClients":
        return Effect.sync(() => {
          const { value, context } = scope.state()
          connections.cut(id, (connection) => !connection.mayGoOn({ status: value, context }))
          return null
        })
      case "cutConnections":
        return Effect.sync(() => connections.cut(id)).pipe(
          Effect.andThen(reach.hasSettled(context)),
          Effect.map((settled) => ({ type: "CONNECTIONS_CUT", cleanup: settled ? "confirmed" : "unconfirmed" }))
        )
      default:
        return Effect.die(new Error(`Unknown command ${command.type} of a service access.`))
    }
  }

  const definition: ActorDefinition<ServiceAccessContext> = {
    kind: "serviceAccess",
    version: Number(serviceAccessMachine.version),
    machine: serviceAccessMachine,
    context,
    // Ending it takes over from everything before.
    lane: () => "connections",
    interpret
  }
  return definition
})
