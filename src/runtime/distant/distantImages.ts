/** The images of a host on another machine. */
import { Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { type Images, RuntimeRefused } from "../Runtime.ts"
import type { DescribedHost } from "./DescribedHost.ts"
import type { HostClient } from "./HostRpcs.ts"
import { asked } from "./hostFaults.ts"

const runsNone = () =>
  new RuntimeRefused({ code: "IMAGE_UNSUPPORTED", message: publicText`The host of the Sandbox runs no images.` })

export const takesNoArchives = () =>
  new RuntimeRefused({
    code: "IMAGE_UNSUPPORTED",
    message: publicText`A server with several hosts takes no image as a file: push it to a registry, and pull it from there.`
  })

export const distantImages = ({
  hostId,
  calls,
  described
}: {
  readonly hostId: string
  readonly calls: HostClient
  readonly described: DescribedHost
}): Images => {
  /** An older host would break off on a call that it does not know. */
  const isAble = () => described.said.runsImages === true
  return {
    pull: (source) =>
      Effect.suspend(() => (isAble() ? asked(calls.PullImage({ hostId, ...source })) : Effect.fail(runsNone()))),
    // Where an archive lies, no other host of the fleet could have its image.
    receive: () => Effect.fail(takesNoArchives()),
    accept: () => Effect.fail(takesNoArchives()),
    discard: () => Effect.void,
    uploads: Effect.succeed([]),
    remove: (digest) => Effect.suspend(() => (isAble() ? asked(calls.RemoveImage({ hostId, digest })) : Effect.void)),
    inventory: Effect.suspend(() => (isAble() ? asked(calls.Images({ hostId })) : Effect.succeed([]))),
    isAble: Effect.sync(isAble)
  }
}

/** An older host would boot the Sandbox with another root than its image. */
export const refusesImages = (described: DescribedHost): RuntimeRefused | null =>
  described.said.runsImages === true ? null : runsNone()
