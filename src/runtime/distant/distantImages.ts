/** The images of a host on another machine. */
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import {
  type Images,
  RuntimeRefused,
  type RuntimeUnavailable,
  type RuntimeUnsupported,
  type SandboxSpec
} from "../Runtime.ts"
import type { DescribedHost } from "./DescribedHost.ts"
import type { HostClient } from "./HostRpcs.ts"
import { asked } from "./hostFaults.ts"
import type { SnapshotContents } from "./SnapshotContents.ts"

const runsNone = () =>
  new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message: publicText`The host of the Sandbox runs no images.` })

const buildsNone = publicText`The host of the Sandbox builds no images.`

const ofOlderVersion = publicText`The host runs an older version of Atoll, which takes no image as a file. Its operator can update it.`

const takesNoArchives = () => new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message: ofOlderVersion })

const toImageError = (error: RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported) =>
  error._tag === "RuntimeUnsupported" ? takesNoArchives() : error

export const distantImages = ({
  hostId,
  calls,
  described,
  contents
}: {
  readonly hostId: string
  readonly calls: HostClient
  readonly described: DescribedHost
  readonly contents: SnapshotContents
}): Images => {
  /** An older host would break off on a call that it does not know. */
  const isAble = () => described.said.runsImages === true
  const movesImages = () => isAble() && described.said.movesImages === true
  const moving = <A>(call: Effect.Effect<A, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>) =>
    Effect.suspend(() =>
      movesImages() ? Effect.mapError(call, toImageError) : Effect.fail(isAble() ? takesNoArchives() : runsNone())
    )
  return {
    pull: (source) =>
      Effect.suspend(() => (isAble() ? asked(calls.PullImage({ hostId, ...source })) : Effect.fail(runsNone()))),
    receive: (imageId, pieces) => moving(contents.sendBytes({ act: "receiveArchive", imageId }, pieces)),
    accept: (imageId) => moving(asked(calls.AcceptImage({ hostId, imageId }))),
    discard: (imageId) =>
      Effect.suspend(() => (movesImages() ? asked(calls.DiscardImage({ hostId, imageId })) : Effect.void)),
    uploads: Effect.suspend(() => (movesImages() ? asked(calls.UploadedImages({ hostId })) : Effect.succeed([]))),
    read: (digest) => moving(Effect.sync(() => contents.bytes(digest))),
    store: (digest, pieces) => moving(contents.sendBytes({ act: "storeImage", digest }, pieces)),
    remove: (digest) => Effect.suspend(() => (isAble() ? asked(calls.RemoveImage({ hostId, digest })) : Effect.void)),
    inventory: Effect.suspend(() => (isAble() ? asked(calls.Images({ hostId })) : Effect.succeed([]))),
    isAble: Effect.sync(isAble),
    buildObstacle: Effect.sync(() => (described.said.buildsImages === true ? null : buildsNone))
  }
}

/** An older host would boot the Sandbox with another root than its image, or one in which nothing can be built. */
export const refusesImages = ({ said }: DescribedHost, { image, builder }: SandboxSpec): RuntimeRefused | null => {
  if (image !== undefined && said.runsImages !== true) return runsNone()
  return builder === true && said.buildsImages !== true
    ? new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message: buildsNone })
    : null
}
