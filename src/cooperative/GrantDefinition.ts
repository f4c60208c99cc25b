/** How the commands of a connection grant are done. */
import { Effect, Schema } from "effect"
import { type ConnectionGrantContext, connectionGrantMachine } from "../../machines/connectionGrant.ts"
import { Reason } from "../../schemas/Sandbox.ts"
import type { ActorDefinition, AnyEvent, CommandScope } from "../actor/ActorDefinition.ts"
import { Settings } from "../Config.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"

const lookEvery = "5 seconds"

/** A context as it is stored: held against what is loaded. */
const context = Schema.Struct({
  endpointId: Schema.String,
  accountId: Schema.String,
  sandboxId: Schema.String,
  generation: Schema.Number,
  publicKeys: Schema.Array(Schema.String),
  createdAt: Schema.Number,
  expiresAt: Schema.Number,
  connectedAt: Schema.NullOr(Schema.Number),
  endedAt: Schema.NullOr(Schema.Number),
  reason: Schema.NullOr(Reason)
})

export const grantDefinition = Effect.gen(function* () {
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const { clusterPort } = yield* Settings

  const interpret = (
    command: PendingCommand,
    scope: CommandScope<ConnectionGrantContext>
  ): Effect.Effect<AnyEvent | null> => {
    const { id, context } = scope.state()
    switch (command.type) {
      case "confirmSandbox":
        return reach.confirmation(context)
      case "holdConnections":
        // With several processes another one may carry them: then only the end of the Sandbox ends the wait.
        return Effect.suspend(() => Effect.succeed(clusterPort === 0 && connections.countOf(id) === 0)).pipe(
          Effect.delay(lookEvery),
          Effect.repeat({ until: (isOver) => isOver }),
          Effect.as({ type: "CONNECTIONS_OVER" })
        )
      case "endConnections":
        return Effect.sync(() => {
          connections.cut(id)
          return null
        })
      default:
        return Effect.die(new Error(`Unknown command ${command.type} of a connection grant.`))
    }
  }

  const definition: ActorDefinition<ConnectionGrantContext> = {
    kind: "connectionGrant",
    version: Number(connectionGrantMachine.version),
    machine: connectionGrantMachine,
    context,
    lane: () => "connections",
    interpret
  }
  return definition
})
