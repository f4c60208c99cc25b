/** Runs the commands of a service access. */
import { Effect } from "effect"
import { serviceAccessMachine } from "../../../machines/serviceAccess.ts"
import { ServiceAccessContext } from "../../../schemas/contexts/ServiceAccess.ts"
import { defineActor } from "../../engine/defineActor.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"

export const serviceAccessDefinition = Effect.gen(function* () {
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach

  return defineActor(serviceAccessMachine, {
    context: ServiceAccessContext,
    // The end supersedes all earlier commands.
    commands: {
      confirmSandbox: { lane: "connections", run: (scope) => reach.confirmation(scope.state().context) },
      cutOtherClients: {
        lane: "connections",
        run: (scope) =>
          Effect.sync(() => {
            const { id, value, context } = scope.state()
            connections.cut(id, (connection) => !connection.mayGoOn({ status: value, context }))
            return null
          })
      },
      cutConnections: {
        lane: "connections",
        run: (scope) => {
          const { id, context } = scope.state()
          return Effect.sync(() => connections.cut(id)).pipe(
            Effect.andThen(reach.hasSettled(context)),
            Effect.map((settled) => ({
              type: "CONNECTIONS_CUT",
              cleanup: settled ? "confirmed" : "unconfirmed"
            }))
          )
        }
      }
    }
  })
})
