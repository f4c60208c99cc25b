/**
 * Brings the image of a snapshot to another host: for the first boot of a Sandbox that has its place there, for a rollback, and from a host that is
 * drained. The bytes pass through this service, from the host that has them to the other, no faster than both go, and are verified by digest and e2fsck
 * there.
 *
 * The copy stays, as a further place of the snapshot: later Sandboxes find it. It costs the customer nothing. A deletion removes the copies; the
 * reconciler of a host that was away then removes its own.
 */
import { Context, Effect, Layer, Result, Schedule, Semaphore } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { RuntimeRefused, RuntimeUnavailable, type RuntimeUnsupported } from "../runtime/Runtime.ts"
import { HostLinks } from "./HostLinks.ts"
import { Reservations } from "./Reservations.ts"
import { type SnapshotPlaces, snapshotCopyStatements } from "./snapshotCopyStatements.ts"

/** Each takes mebibytes of memory, and the links of two hosts. */
const parallelMax = 4
/** A connection that breaks is begun again. */
const again = Schedule.exponential("250 millis")
const triesMore = 3
const removedWithin = "10 seconds"

const nowhere = new RuntimeRefused({
  code: "SNAPSHOT_MISSING",
  message: publicText`No host has the snapshot any more, so no Sandbox starts from it.`
})

const notTaken = new RuntimeRefused({
  code: "HOST_FULL",
  message: publicText`The snapshot cannot be brought to a host with room. Try again later.`
})

const sourceAway = RuntimeUnavailable.known(
  publicText`The host that has the snapshot does not answer now. Try again later.`
)

type Fault = RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported

/** What a boot can do about it: HOST_FULL sends it to another host. */
const bootFault = (error: Fault): RuntimeRefused | RuntimeUnavailable => {
  if (error._tag === "RuntimeUnavailable") return error
  if (error._tag === "RuntimeRefused" && (error.code === "HOST_FULL" || error.code === "SNAPSHOT_MISSING")) return error
  return notTaken
}

const transfers = (
  links: HostLinks["Service"],
  copies: Effect.Success<typeof snapshotCopyStatements>,
  isRemovedHost: (hostId: string) => Effect.Effect<boolean>
) => {
  /** The image of the first host that gives it. */
  const sourceOf = Effect.fnUntraced(function* (snapshotId: string, { hostId, copies: others }: SnapshotPlaces) {
    let isAway = false
    for (const from of hostId === null ? others : [hostId, ...others]) {
      if (yield* isRemovedHost(from)) continue
      const image = yield* links.to(from).pipe(
        Effect.flatMap((host) => host.snapshots.read(snapshotId, null)),
        Effect.result
      )
      if (Result.isSuccess(image)) return image.success
      if (image.failure._tag === "RuntimeUnsupported") return yield* image.failure
      isAway ||= image.failure._tag === "RuntimeUnavailable"
    }
    return yield* isAway ? sourceAway : nowhere
  })

  const travel = Effect.fnUntraced(function* (snapshotId: string, hostId: string) {
    const places = yield* copies.places(snapshotId)
    if (places === null) return yield* nowhere
    const image = yield* sourceOf(snapshotId, places)
    const { snapshots } = yield* links.to(hostId)
    yield* snapshots.receive(snapshotId, image, places.kind)
    yield* snapshots.accept(snapshotId, null)
    // Its deletion may have looked before the image came.
    if (!(yield* copies.complete(snapshotId, hostId))) return yield* nowhere
  })

  const discard = (snapshotId: string, hostId: string) =>
    links.to(hostId).pipe(
      Effect.flatMap(({ snapshots }) => snapshots.remove(snapshotId, null)),
      Effect.timeout(removedWithin),
      Effect.ignore
    )

  return { sourceOf, travel, discard }
}

const make = Effect.gen(function* () {
  const links = yield* HostLinks
  const { isRemovedHost } = yield* Reservations
  const copies = yield* snapshotCopyStatements
  const lock = yield* lockByKey
  const travelling = Semaphore.makeUnsafe(parallelMax)

  const { sourceOf, travel, discard } = transfers(links, copies, isRemovedHost)

  const has = ({ hostId, copies: others }: SnapshotPlaces, wanted: string) =>
    hostId === wanted || others.includes(wanted)

  const bring = Effect.fnUntraced(function* (snapshotId: string, hostId: string) {
    const places = yield* copies.places(snapshotId)
    if (places === null || has(places, hostId)) return
    yield* Effect.gen(function* () {
      const now = yield* copies.places(snapshotId)
      if (now === null || has(now, hostId)) return
      yield* copies.begin(snapshotId, hostId)
      yield* travelling
        .withPermits(1)(travel(snapshotId, hostId))
        .pipe(
          Effect.tapError(({ message }) =>
            Effect.logInfo(`${snapshotId} did not reach the host ${hostId}: ${message}`)
          ),
          Effect.retry({ schedule: again, times: triesMore, while: ({ _tag }) => _tag === "RuntimeUnavailable" }),
          Effect.tapError(() => discard(snapshotId, hostId)),
          Effect.mapError(bootFault)
        )
    }).pipe(lock(`${snapshotId} ${hostId}`))
  })

  return {
    places: copies.places,

    /** The content, of the host that its snapshot names or of another one that has it. */
    read: Effect.fnUntraced(function* (snapshotId: string) {
      const places = yield* copies.places(snapshotId)
      return yield* places === null ? nowhere : sourceOf(snapshotId, places)
    }),

    /** Does nothing where the host has the image, or no snapshot of that id is known. An interruption ends the transfer. */
    bring,

    /** Those that only this host has, from the oldest on. */
    leaving: copies.leaving,

    /** Hosts that may have something of a copy. */
    begun: copies.begun,

    /** Removes the copies. What a host that does not answer has of them is removed by its reconciler. */
    removeAll: Effect.fnUntraced(function* (snapshotId: string) {
      for (const hostId of yield* copies.begun(snapshotId)) {
        if (!(yield* isRemovedHost(hostId))) yield* discard(snapshotId, hostId)
        yield* copies.forget(snapshotId, hostId)
      }
    })
  }
})

/** One for all of a process: it bounds the transfers. */
export class SnapshotCopies extends Context.Service<SnapshotCopies, Effect.Success<typeof make>>()(
  "atoll/fleet/SnapshotCopies"
) {
  static readonly layer = Layer.effect(SnapshotCopies, make)
}
