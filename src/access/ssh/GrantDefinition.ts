/** Interprets the commands of a connection grant. */
import { Effect } from "effect"
import { connectionGrantMachine } from "../../../machines/connectionGrant.ts"
import { ConnectionGrantContext } from "../../../schemas/contexts/ConnectionGrant.ts"
import { Settings } from "../../Config.ts"
import { defineActor } from "../../engine/defineActor.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { type Boot, SandboxReach } from "../gateway/SandboxReach.ts"

const lookEvery = "5 seconds"

export const grantDefinition = Effect.gen(function* () {
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach
  const { clusterPort } = yield* Settings

  /**
   * With several processes another one may carry connections; then the wait ends with the Sandbox. The Sandbox is looked at here too: it
   * tells its end to the grants that are stored at that instant, and one that is stored later may elapse before it is confirmed.
   */
  const areOver = (grant: Boot, id: string) =>
    clusterPort === 0 ? Effect.succeed(connections.countOf(id) === 0) : reach.isOver(grant)

  const untilConnectionsOver = (grant: Boot, id: string) =>
    Effect.suspend(() => areOver(grant, id)).pipe(
      Effect.delay(lookEvery),
      Effect.repeat({ until: (isOver) => isOver }),
      Effect.as({ type: "CONNECTIONS_OVER" as const })
    )

  return defineActor(connectionGrantMachine, {
    context: ConnectionGrantContext,
    commands: {
      confirmSandbox: { lane: "connections", run: (scope) => reach.confirmation(scope.state().context) },
      holdConnections: {
        lane: "connections",
        run: (scope) => untilConnectionsOver(scope.state().context, scope.state().id)
      },
      endConnections: {
        lane: "connections",
        run: (scope) =>
          Effect.sync(() => {
            connections.cut(scope.state().id)
            return null
          })
      }
    }
  })
})
