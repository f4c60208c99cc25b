/** Runs the commands of a preview. */
import { Effect, Schedule } from "effect"
import { previewMachine } from "../../../machines/preview.ts"
import { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import type { ActorState } from "../../engine/ActorDefinition.ts"
import { defineActor } from "../../engine/defineActor.ts"
import type { EventOf } from "../../engine/machineTypes.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { SandboxReach } from "../gateway/SandboxReach.ts"

/** A guest that does not confirm now may do so later, or its boot ends. */
const askAgain = Schedule.min([Schedule.exponential(100), Schedule.spaced(5000)])

/** @param forget Called as soon as a host name is no longer valid in this process. */
export const previewDefinition = Effect.fnUntraced(function* (forget: (actorId: string) => void) {
  const connections = yield* LiveConnections
  const reach = yield* SandboxReach

  const openTunnel = (context: PreviewContext) =>
    Effect.map(
      reach.obstacle(context),
      (reason): EventOf<typeof previewMachine> =>
        reason === null ? { type: "TUNNEL_OPEN" } : { type: "TUNNEL_REFUSED", reason }
    )

  const closeTunnel = ({ id, context }: ActorState<PreviewContext>) =>
    Effect.sync(() => {
      forget(id)
      connections.cut(id)
    }).pipe(
      Effect.andThen(reach.hasSettled(context)),
      Effect.flatMap((settled) => (settled ? Effect.void : Effect.fail("unsettled"))),
      Effect.retry(askAgain),
      Effect.orDie,
      Effect.as({ type: "TUNNEL_CLOSED" as const })
    )

  return defineActor(previewMachine, {
    context: PreviewContext,
    // Closing supersedes opening.
    commands: {
      openTunnel: { lane: "tunnel", run: (scope) => openTunnel(scope.state().context) },
      closeTunnel: { lane: "tunnel", run: (scope) => closeTunnel(scope.state()) }
    }
  })
})
