/**
 * The Runtime of a service whose Sandboxes live on hosts. Each call goes to the Sandbox's host, and updates the reservation there.
 *
 * A Sandbox without a host has no volume and no runtime. It gets a host when it boots, if one has capacity then. While all hosts with capacity are
 * silent, the boot waits, up to its time limit: restarted hosts are soon back, and the client has already been told that the Sandbox exists.
 *
 * A Sandbox that was never up moves to another host if its own host refuses to boot it or no longer takes new ones. It never returns to a
 * host that it has left: anything left of it there is destroyed when found. If its host does not answer, it waits: it may be up there. The image of a
 * snapshot goes with its Sandbox; only one with memory stays on its host, and its Sandboxes with it.
 *
 * Deaths and stalls are not handled here: the host supervisor reports them to the Sandboxes.
 */

import { Effect, Layer, Stream } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { Settings } from "../Config.ts"
import { GuestUnavailable } from "../runtime/Guest.ts"
import { Runtime, RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../runtime/Runtime.ts"
import { imagesOfFleet, isHostsOwn } from "./fleetImages.ts"
import { fleetSnapshots } from "./fleetSnapshots.ts"
import { HostFeeds } from "./HostFeeds.ts"
import { HostLinks } from "./HostLinks.ts"
import { isClosed, isEmptied } from "./hostStates.ts"
import { Reservations } from "./Reservations.ts"
import type { Raised } from "./reservationStatements.ts"
import { SnapshotCopies } from "./SnapshotCopies.ts"

/** Retry interval while waiting for capacity. */
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
    publicText`The operator is draining the host of this Sandbox. Try again once that host takes Sandboxes.`
  )

/** Why a boot on that host is refused without a try; null: no reason. */
const obstacleAt = ({ isUp, isSettled, status }: Raised): RuntimeRefused | RuntimeUnavailable | null => {
  if (!isUp) return itsHostIsFull()
  if (isEmptied(status)) return isSettled ? itsHostIsEmptied() : nobodyHasRoom()
  return null
}

/** Leftovers on a host that refused the boot are removed immediately if possible; else a later comparison finds them. */
const removedWithin = "10 seconds"

type Host = Runtime["Service"]

const nowhere = (sandboxId: string) => `${sandboxId} is on no host.`

/** Those of any host; Placement knows those of each Sandbox's. */
const capabilities: Runtime["Service"]["capabilities"] = {
  suspend: true,
  memorySnapshots: true,
  networkFiltered: true,
  networkRefused: () => null,
  statements: []
}

export const FleetRuntime = {
  layer: Layer.effect(
    Runtime,
    Effect.gen(function* () {
      const links = yield* HostLinks
      const reservations = yield* Reservations
      const feeds = yield* HostFeeds
      const { bootTimeoutMs } = yield* Settings
      const scope = yield* Effect.scope
      const copies = yield* SnapshotCopies
      const roots = yield* imagesOfFleet(links, reservations.isRemovedHost)

      /** Null: the Sandbox has no host. */
      const linkOf = (sandboxId: string) =>
        Effect.flatMap(
          reservations.hostOf(sandboxId),
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

      /** Retries until a host has capacity or none can get it. False: no host has capacity. */
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
        const { sandboxId, snapshotId } = spec
        const origin = snapshotId === undefined ? null : yield* copies.places(snapshotId)
        const giveUpAt = performance.now() + bootTimeoutMs
        while (true) {
          const promised = yield* reservations.raise(sandboxId, spec.generation)
          if (promised === null) {
            if (!(yield* untilPlaced(reservations.takeLate(spec, origin), giveUpAt))) {
              return yield* origin?.isBound === true ? itsHostIsFull() : nobodyHasRoom()
            }
            continue
          }
          const { hostId, isSettled, status } = promised
          const isBound = isSettled || origin?.isBound === true
          /** Moves the Sandbox to another host, or finds a reason to try this one again. */
          const goesOn = Effect.gen(function* () {
            if (isBound || !(yield* untilPlaced(reservations.move(spec, hostId), giveUpAt))) return false
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
          if (isClosed(status) && !isBound && (yield* reservations.move(spec, hostId)) === "moved") continue
          const host = yield* links.to(hostId)
          const brought = isSettled || snapshotId === undefined ? Effect.void : copies.bring(snapshotId, hostId)
          const boot = roots.before(spec.image, hostId, host.provision(spec, turn))
          const refused = yield* Effect.andThen(brought, boot).pipe(
            Effect.as(null),
            Effect.catchTag("RuntimeRefused", (error) => Effect.succeed(error))
          )
          if (refused === null) {
            if (isSettled || (yield* reservations.settle(sandboxId, hostId))) return
            continue
          }
          if ((refused.code !== "HOST_FULL" && !isHostsOwn(refused)) || !(yield* goesOn)) return yield* refused
        }
      })

      /** A failure here sent nothing to the guest. */
      const guestsOf = (sandboxId: string) =>
        Effect.mapError(there(sandboxId), ({ message }) => new GuestUnavailable({ message }))

      return Runtime.of({
        driver: "fleet",
        // Each Sandbox has its own kind.
        kind: "namespace",
        capabilities,
        provision,
        stop: Effect.fnUntraced(function* (sandboxId, generation) {
          const host = yield* linkOf(sandboxId)
          if (host === null) return
          yield* host.stop(sandboxId, generation)
          yield* reservations.lower(sandboxId, generation)
        }),
        destroy: Effect.fnUntraced(function* (sandboxId) {
          const host = yield* linkOf(sandboxId)
          if (host === null) return
          yield* host.destroy(sandboxId)
          yield* reservations.release(sandboxId)
        }),
        resize: (sandboxId, generation, sizes) =>
          Effect.flatMap(there(sandboxId), (host) => host.resize(sandboxId, generation, sizes)),
        suspend: (sandboxId, generation) =>
          Effect.flatMap(there(sandboxId), (host) => host.suspend(sandboxId, generation)),
        snapshots: fleetSnapshots(links, reservations, copies),
        images: roots.images,
        inventory: Effect.fail(new RuntimeUnavailable({ message: "Each host has its own inventory." })),
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
