/**
 * The images of a fleet: one host pulls an image, and others do when a Sandbox boots from it there.
 *
 * A refusal that lies in the host (no room, another processor) lets the next one try. Any other ends the pull: the registry would refuse all.
 */
import { Effect } from "effect"
import { publicText } from "../../schemas/PublicText.ts"
import { takesNoArchives } from "../runtime/distant/distantImages.ts"
import { type Images, RuntimeRefused, RuntimeUnavailable } from "../runtime/Runtime.ts"
import type { HostLinks } from "./HostLinks.ts"
import type { ImagesOnHosts } from "./imagesOnHosts.ts"

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

/** Another host may take it. */
export const isHostsOwn = ({ code }: RuntimeRefused): boolean =>
  code === "IMAGE_NO_ROOM" || code === "IMAGE_UNSUPPORTED"

export const fleetImages = (links: HostLinks["Service"], rows: ImagesOnHosts): Images => {
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
    receive: () => Effect.fail(takesNoArchives()),
    accept: () => Effect.fail(takesNoArchives()),
    discard: () => Effect.void,
    uploads: Effect.succeed([]),
    remove: Effect.fnUntraced(function* (digest) {
      const hosts = yield* rows.hosts(digest)
      yield* Effect.forEach(
        hosts.filter(({ runsImages }) => runsImages),
        ({ id }) => removeAt(id, digest),
        { concurrency: removalsAtOnce, discard: true }
      )
    }),
    inventory: Effect.fail(new RuntimeUnavailable({ message: "Each host has its own inventory." })),
    isAble: Effect.map(rows.hosts(null), (hosts) => hosts.some(({ runsImages }) => runsImages))
  }
}
