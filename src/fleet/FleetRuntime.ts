/**
 * The Runtime of a service whose Sandboxes live on hosts: each call goes to the host of its Sandbox, and what is promised there follows it.
 *
 * Of one that has no host nothing is anywhere: it gets one when it boots, if there is room by then, and there is nothing to end. While all hosts that would have
 * room are silent it waits, as long as a boot may take: hosts that are restarted are soon there again, and who was told that it is made does not ask once more. Deaths and stalls are no part of it: whoever attends
 * a host tells its Sandboxes of them.
 */
import { Effect, Layer, Stream } from "effect"
import { Settings } from "../Config.ts"
import { GuestUnavailable } from "../runtime/Guest.ts"
import { Runtime, RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../runtime/Runtime.ts"
import { HostFeeds } from "./HostFeeds.ts"
import { HostLinks } from "./HostLinks.ts"
import { Promises } from "./Promises.ts"

/** Room that is awaited is looked for so often. */
const lookAgainMs = 500

const nobodyHasRoom = () =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: "No host has room for the Sandbox now. Try again later, or stop or delete another one."
  })

const itsHostIsFull = () =>
  new RuntimeRefused({
    code: "HOST_FULL",
    message: "The host of this Sandbox has no room for it now. Try again later, or stop or delete another one."
  })

const nowhere = (sandboxId: string) => `${sandboxId} is on no host.`

export const FleetRuntime = {
  layer: Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const links = yield* HostLinks
      const promises = yield* Promises
      const feeds = yield* HostFeeds
      const { bootTimeoutMs } = yield* Settings

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

      const anywhere = Effect.fnUntraced(function* (spec: SandboxSpec) {
        const giveUpAt = performance.now() + bootTimeoutMs
        while (true) {
          const taken = yield* promises.takeLate(spec)
          if (taken !== null && taken !== "soon") return taken.hostId
          if (taken === null || performance.now() > giveUpAt) return yield* nobodyHasRoom()
          yield* Effect.sleep(lookAgainMs * (0.5 + Math.random() / 2))
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
        provision: Effect.fnUntraced(function* (spec, turn) {
          const promised = yield* promises.raise(spec.sandboxId)
          if (promised?.isUp === false) return yield* itsHostIsFull()
          const hostId = promised?.hostId ?? (yield* anywhere(spec))
          const host = yield* links.to(hostId)
          yield* host.provision(spec, turn)
        }),
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
