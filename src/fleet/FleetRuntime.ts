/**
 * The Runtime of a service whose Sandboxes live on hosts: each call goes to the host of its Sandbox, and what is promised there follows it.
 *
 * Of one that has no host nothing is anywhere: it gets one when it boots, if there is room by then, and there is nothing to end. While all hosts that would have
 * room are silent it waits, as long as a boot may take: hosts that are restarted are soon there again, and who was told that it is made does not ask once more.
 *
 * One that was never up goes on to another host where its own answers that it does not boot it, or takes no new ones any more. It never comes back to one
 * that it has left: what is left of it there is destroyed, whenever that is found. One whose host does not answer waits for it: it may be up there.
 *
 * Deaths and stalls are no part of this: whoever attends a host tells its Sandboxes of them.
 */

import { Effect, Layer, Stream } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import { GuestUnavailable } from "../runtime/Guest.ts"
import { Runtime, RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../runtime/Runtime.ts"
import { HostFeeds } from "./HostFeeds.ts"
import { HostLinks } from "./HostLinks.ts"
import { isClosed, isEmptied } from "./hostStates.ts"
import { Promises, type Raised } from "./Promises.ts"

/** Room that is awaited is looked for so often. */
const lookAgainMs = 500

const nobodyHasRoom = () =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`No host has room for the Sandbox now. Try again later, or stop or delete another one.`
  })

const itsHostIsFull = () =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: publicText`The host of this Sandbox has no room for it now. Try again later, or stop or delete another one.`
  })

const itsHostIsEmptied = () =>
  RuntimeUnavailable.known(
    publicText`The operator empties the host of this Sandbox. Try again once that host takes Sandboxes.`
  )

/** What is against a boot there that nobody has tried yet; null: nothing. */
const obstacleAt = ({ isUp, isSettled, status }: Raised): RuntimeRefused | RuntimeUnavailable | null => {
  if (!isUp) return itsHostIsFull()
  if (isEmptied(status)) return isSettled ? itsHostIsEmptied() : nobodyHasRoom()
  return null
}

/** What is left on a host that refused it goes at once where it can; else it is found there. */
const removedWithin = "10 seconds"

const nowhere = (sandboxId: string) => `${sandboxId} is on no host.`

export const FleetRuntime = {
  layer: Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const links = yield* HostLinks
      const promises = yield* Promises
      const feeds = yield* HostFeeds
      const { bootTimeoutMs } = yield* Settings
      const scope = yield* Effect.scope

      type Host = Runtime["Service"]

      /** Null: it has none. */
      const linkOf = (sandboxId: string) =>
        Effect.flatMap(
          promises.hostOf(sandboxId),
          (hostId): Effect.Effect<Host | null, RuntimeUnavailable> =>
            hostId === null ? Effect.succeed(null) : links.to(hostId)
        )

      const there = (sandboxId: string) =>
        Effect.flatMap(
          linkOf(sandboxId),
          (host): Effect.Effect<Host, RuntimeUnavailable> =>
            host === null ? Effect.fail(new RuntimeUnavailable({ message: nowhere(sandboxId) })) : Effect.succeed(host)
        )

      type Found = "soon" | "moved" | { readonly hostId: string } | null

      /** Looks for room until there is some, or no hope of any. False: nobody has room. */
      const untilPlaced = Effect.fnUntraced(function* (look: Effect.Effect<Found>, giveUpAt: number) {
        while (true) {
          const found = yield* look
          if (found !== "soon") return found !== null
          if (performance.now() > giveUpAt) return false
          yield* Effect.sleep(lookAgainMs * (0.5 + Math.random() / 2))
        }
      })

      const leaveNothing = (sandboxId: string, hostId: string) =>
        links.to(hostId).pipe(
          Effect.flatMap((host) => host.destroy(sandboxId)),
          Effect.timeout(removedWithin),
          Effect.ignore,
          Effect.forkIn(scope)
        )

      const provision = Effect.fnUntraced(function* (
        spec: SandboxSpec,
        turn: (() => void) | undefined
      ): Effect.fn.Return<void, RuntimeRefused | RuntimeUnavailable> {
        const { sandboxId } = spec
        const giveUpAt = performance.now() + bootTimeoutMs
        while (true) {
          const promised = yield* promises.raise(sandboxId, spec.generation)
          if (promised === null) {
            if (!(yield* untilPlaced(promises.takeLate(spec), giveUpAt))) return yield* nobodyHasRoom()
            continue
          }
          const { hostId, isSettled, status } = promised
          /** It has another host now, or a way to this one that is worth trying. */
          const goesOn = Effect.gen(function* () {
            if (isSettled || !(yield* untilPlaced(promises.move(spec, hostId), giveUpAt))) return false
            yield* Effect.logInfo(`${sandboxId} was not booted by ${hostId}, and goes to another host`)
            yield* leaveNothing(sandboxId, hostId)
            return true
          })
          const obstacle = obstacleAt(promised)
          if (obstacle !== null) {
            if (yield* goesOn) continue
            return yield* obstacle
          }
          // It has room for it, so it is no worse than none.
          if (isClosed(status) && !isSettled && (yield* promises.move(spec, hostId)) === "moved") continue
          const host = yield* links.to(hostId)
          const refused = yield* host.provision(spec, turn).pipe(
            Effect.as(null),
            Effect.catchTag("RuntimeRefused", (error) => Effect.succeed(error))
          )
          if (refused === null) {
            if (isSettled || (yield* promises.settle(sandboxId, hostId))) return
            continue
          }
          if (refused.code !== "HOST_FULL" || !(yield* goesOn)) return yield* refused
        }
      })

      /** Nothing was asked of it. */
      const guestsOf = (sandboxId: string) =>
        Effect.mapError(there(sandboxId), ({ message }) => new GuestUnavailable({ message }))

      return Runtime.of({
        driver: "fleet",
        // Each Sandbox says itself which it is.
        kind: "namespace",
        capabilities: {
          suspend: true,
          networkFiltered: true,
          networkRefused: () => null,
          statements: []
        },
        provision,
        stop: Effect.fnUntraced(function* (sandboxId, generation) {
          const host = yield* linkOf(sandboxId)
          if (host === null) return
          yield* host.stop(sandboxId, generation)
          yield* promises.lower(sandboxId, generation)
        }),
        destroy: Effect.fnUntraced(function* (sandboxId) {
          const host = yield* linkOf(sandboxId)
          if (host === null) return
          yield* host.destroy(sandboxId)
          yield* promises.release(sandboxId)
        }),
        suspend: (sandboxId, generation) =>
          Effect.flatMap(there(sandboxId), (host) => host.suspend(sandboxId, generation)),
        inventory: Effect.fail(new RuntimeUnavailable({ message: "Each host has an inventory of its own." })),
        guest: (sandboxId, generation) =>
          Effect.flatMap(guestsOf(sandboxId), (host) => host.guest(sandboxId, generation)),
        connect: (sandboxId, generation) =>
          Effect.flatMap(guestsOf(sandboxId), (host) => host.connect(sandboxId, generation)),
        sample: (sandboxId, generation) =>
          Effect.flatMap(there(sandboxId), (host) => host.sample(sandboxId, generation)),
        downs: Stream.never,
        stalls: Stream.never,
        console: feeds.console
      })
    })
  )
}
