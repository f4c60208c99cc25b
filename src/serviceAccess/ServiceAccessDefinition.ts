/** How the commands of a service access are done. */
import { Effect } from "effect"
import { type ServiceAccessContext, serviceAccessMachine } from "../../machines/serviceAccess.ts"
import type { ActorDefinition, AnyEvent, CommandScope } from "../actor/ActorDefinition.ts"
import { taggedStates } from "../actor/taggedStates.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"
import type { PendingCommand } from "../store/JournalRecord.ts"

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
    version: 1,
    machine: serviceAccessMachine,
    // Ending it takes over from everything before.
    lane: () => "connections",
    interpret
  }
  return definition
})

/** The states in which an access must hear that its Sandbox ended. */
export const openAccessStates = taggedStates(serviceAccessMachine, "open")
