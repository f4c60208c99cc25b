/**
 * The images of a fleet: one host pulls an image, and others do when a Sandbox boots from it there. One host takes the archive of an uploaded image; other
 * hosts get the image from it (`ImageCopies.ts`).
 *
 * A refusal that lies in the host (no room, another processor) lets the next one try. Any other ends the pull: the registry would refuse all.
 */
import { Effect, Result } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { type Images, RuntimeRefused, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { type ArchivesOnHosts, archivesOnHosts } from "./archivesOnHosts.ts"
import type { HostLinks } from "./HostLinks.ts"
import { ImageCopies } from "./ImageCopies.ts"
import { type ImagesOnHosts, imagesOnHosts } from "./imagesOnHosts.ts"

/** Hosts that are tried for one pull; of these, how many may fail without a refusal: the registry may be the cause. */
const triesMax = 8
const failuresMax = 2
const removalsAtOnce = 16
/** The comparison with its inventory removes it later from a host that does not answer so long. */
const removedWithin = "10 seconds"

const runsNone = () =>
  new RuntimeRefused({
    code: "IMAGE_UNSUPPORTED",
    message: publicText`No host of this server can give a Sandbox an image as its root.`
  })

const nobodyThere = () =>
  RuntimeUnavailable.known(publicText`No host that could pull the image is there now. Try again later.`)

const archiveLost = () =>
  new RuntimeRefused({
    code: "IMAGE_NOT_FOUND",
    message: publicText`The host that had the file of the image is gone. Upload it again.`
  })

const noneNow = () =>
  new RuntimeRefused({
    code: "IMAGE_NO_ROOM",
    message: publicText`No host takes an image now. Try again later.`
  })

/** Whether a piece was read: another host cannot have it then. */
const begun = (pieces: AsyncIterable<Uint8Array>) => {
  let isBegun = false
  async function* read(): AsyncGenerator<Uint8Array> {
    isBegun = true
    yield* pieces
  }
  return { pieces: read, isBegun: () => isBegun }
}

/** Another host may take it. */
export const isHostsOwn = ({ code }: RuntimeRefused): boolean =>
  code === "IMAGE_NO_ROOM" || code === "IMAGE_UNSUPPORTED"

const buildsNone = publicText`No host of this server can build images.`

/** The archives of uploaded images: each is on the host that was the emptiest when it came. */
const fleetUploads = (
  links: HostLinks["Service"],
  rows: ImagesOnHosts,
  uploads: ArchivesOnHosts,
  isRemovedHost: (hostId: string) => Effect.Effect<boolean>
) => {
  const imagesAt = (hostId: string) => Effect.map(links.to(hostId), ({ images }) => images)

  /** Null: none, or one that has left the fleet. */
  const hostOf = Effect.fnUntraced(function* (imageId: string) {
    const hostId = yield* uploads.hostOf(imageId)
    return hostId === null || (yield* isRemovedHost(hostId)) ? null : hostId
  })

  /** What a host that does not answer has of it is removed by its reconciler. */
  const discard = Effect.fnUntraced(function* (imageId: string) {
    const hostId = yield* hostOf(imageId)
    if (hostId !== null) {
      yield* imagesAt(hostId).pipe(
        Effect.flatMap((images) => images.discard(imageId)),
        Effect.timeout(removedWithin),
        Effect.ignore
      )
    }
    yield* uploads.forget(imageId)
  })

  const received = Effect.fnUntraced(function* (imageId: string, content: AsyncIterable<Uint8Array>) {
    // Of a service that was killed.
    yield* discard(imageId)
    const { pieces, isBegun } = begun(content)
    const hosts = yield* rows.receivers
    const all = hosts.length === 0 ? yield* rows.hosts(null) : []
    let last: RuntimeRefused | RuntimeUnavailable =
      all.some(({ isReady }) => isReady) && !all.some(({ runsImages }) => runsImages) ? runsNone() : noneNow()
    for (const hostId of hosts) {
      yield* uploads.begin(imageId, hostId)
      const stored = yield* imagesAt(hostId).pipe(
        Effect.flatMap((images) => images.receive(imageId, { [Symbol.asyncIterator]: pieces })),
        Effect.result
      )
      if (Result.isSuccess(stored)) return
      last = stored.failure
      yield* discard(imageId)
      if (isBegun()) break
    }
    return yield* last
  })

  return {
    receive: (imageId, content) => Effect.onInterrupt(received(imageId, content), () => discard(imageId)),
    accept: Effect.fnUntraced(function* (imageId) {
      const hostId = yield* hostOf(imageId)
      if (hostId === null) return yield* archiveLost()
      const images = yield* imagesAt(hostId)
      return yield* Effect.tap(images.accept(imageId), ({ digest }) => rows.note(hostId, digest))
    }),
    discard
  } satisfies Partial<Images>
}

const fleetImages = (
  links: HostLinks["Service"],
  rows: ImagesOnHosts,
  uploads: ArchivesOnHosts,
  isRemovedHost: (hostId: string) => Effect.Effect<boolean>
): Images => {
  const pullAt = (hostId: string, source: Parameters<Images["pull"]>[0]) =>
    Effect.flatMap(links.to(hostId), ({ images }) => images.pull(source)).pipe(
      Effect.tap(({ digest }) => rows.note(hostId, digest))
    )

  const removeAt = (hostId: string, digest: string) =>
    Effect.flatMap(links.to(hostId), ({ images }) => images.remove(digest)).pipe(
      Effect.timeoutOrElse({
        duration: removedWithin,
        orElse: () => Effect.fail(new RuntimeUnavailable({ message: "The host does not answer." }))
      }),
      Effect.andThen(rows.forget(hostId, digest)),
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.logInfo(`The image ${digest} is removed from the host ${hostId} once that is back`, message)
      )
    )

  const obstacleAt = (hostId: string) => Effect.flatMap(links.to(hostId), ({ images }) => images.buildObstacle)

  return {
    pull: Effect.fnUntraced(function* (source) {
      const hosts = yield* rows.hosts(source.digest)
      const able = hosts.filter(({ runsImages }) => runsImages)
      if (able.length === 0 && hosts.some(({ isReady }) => isReady)) return yield* runsNone()
      let failures = 0
      let last: RuntimeRefused | RuntimeUnavailable = nobodyThere()
      for (const { id } of able.filter(({ isReady }) => isReady).slice(0, triesMax)) {
        const error = yield* pullAt(id, source).pipe(
          Effect.map((pulled) => ({ pulled })),
          Effect.catch((error) => Effect.succeed(error))
        )
        if ("pulled" in error) return error.pulled
        if (error._tag === "RuntimeRefused" && !isHostsOwn(error)) return yield* error
        if (error._tag === "RuntimeUnavailable") {
          failures++
          last = error
        } else if (failures === 0) last = error
        if (failures >= failuresMax) break
      }
      return yield* last
    }),
    ...fleetUploads(links, rows, uploads, isRemovedHost),
    uploads: Effect.fail(new RuntimeUnavailable({ message: "Each host has its own archives." })),
    read: () => Effect.fail(new RuntimeUnavailable({ message: "Each host has its own images." })),
    store: () => Effect.fail(new RuntimeUnavailable({ message: "Each host has its own images." })),
    remove: Effect.fnUntraced(function* (digest) {
      const hosts = yield* rows.hosts(digest)
      yield* Effect.forEach(
        hosts.filter(({ runsImages }) => runsImages),
        ({ id }) => removeAt(id, digest),
        { concurrency: removalsAtOnce, discard: true }
      )
    }),
    inventory: Effect.fail(new RuntimeUnavailable({ message: "Each host has its own inventory." })),
    isAble: Effect.map(rows.hosts(null), (hosts) => hosts.some(({ runsImages }) => runsImages)),
    buildObstacle: Effect.flatMap(rows.hosts(null), (hosts) =>
      Effect.forEach(
        hosts.filter(({ runsImages, isReady }) => runsImages && isReady),
        ({ id }) => Effect.orElseSucceed(obstacleAt(id), () => buildsNone),
        { concurrency: removalsAtOnce }
      )
    ).pipe(Effect.map((obstacles) => (obstacles.includes(null) ? null : buildsNone)))
  }
}

/** The images of the fleet, and the boots of Sandboxes with one. */
export const imagesOfFleet = Effect.fnUntraced(function* (
  links: HostLinks["Service"],
  isRemovedHost: (hostId: string) => Effect.Effect<boolean>
) {
  const rows = yield* imagesOnHosts
  return {
    images: fleetImages(links, rows, yield* archivesOnHosts, isRemovedHost),
    before: (yield* ImageCopies).before
  }
})
