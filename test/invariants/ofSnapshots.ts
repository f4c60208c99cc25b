/** The invariants of snapshots over the explored product: what their rows and their host have of each other. */

import { hasNeverRun } from "../../machines/sandbox.ts"
import { isPassing } from "../../machines/snapshot.ts"
import type { ActorView, EdgeInvariant, Liveness, StateInvariant } from "../../src/proofs/explore/Product.ts"
import { imageOf, snapshotsOf, waitsForImage } from "../proofs/product/snapshots.ts"
import { sandboxOf, type View, type World } from "../proofs/product/World.ts"

const wasReadyIn = (product: View, id: string): boolean => product.actor(id)!.context.readyAt !== null

/** The first answer about a snapshot that is not null. */
const firstOf = (product: View, look: (snapshot: ActorView) => string | null): string | null => {
  for (const snapshot of snapshotsOf(product)) {
    const found = look(snapshot)
    if (found !== null) return found
  }
  return null
}

const readyHasItsImage: StateInvariant<World> = {
  sentence: "A snapshot is ready only with an image on its host, unless the host has lost it.",
  broken: (product) =>
    firstOf(product, ({ id, state, tags }) =>
      tags.has("bootable") && imageOf(product, id).has === "none" ? `${id} is ${state}, and has no image.` : null
    )
}

const deletionsAreTaken: EdgeInvariant<World> = {
  sentence: "A client's DELETE of a snapshot is taken in every state.",
  broken: (before, { deliveries }) => {
    const refused = deliveries.find(
      ({ to, event, verdict }) =>
        event.type === "DELETE" && verdict === "refused" && before.actor(to)?.kind === "snapshot"
    )
    return refused === undefined ? null : `${refused.to} refused it in ${refused.from}: ${refused.code}.`
  }
}

const nothingLeadsBack: EdgeInvariant<World> = {
  sentence: "Delete wins: no snapshot comes back from its deletion, and none that failed becomes ready.",
  broken: (before, _, after) =>
    firstOf(before, ({ id, state, tags }) => {
      const now = after.actor(id)
      if (now === null) return null
      const isBack =
        (tags.has("removed") && !now.tags.has("removed")) ||
        (tags.has("gone") && !now.tags.has("gone")) ||
        (!tags.has("awaited") && !tags.has("bootable") && now.tags.has("bootable"))
      return isBack ? `${id} was ${state}, and is ${now.state}.` : null
    })
}

const deletedMeansGone: EdgeInvariant<World> = {
  sentence: "A snapshot is deleted only when its image is gone, but for what a copy leaves that was given up.",
  broken: (before, _, after) =>
    firstOf(after, ({ id, tags }) => {
      const { has, isStray } = imageOf(after, id)
      const becomesGone = tags.has("gone") && before.actor(id)?.tags.has("gone") === false
      return becomesGone && has === "whole" && !isStray ? `${id} is deleted, and its image is there.` : null
    })
}

const bootsAreOfReadyOnes: EdgeInvariant<World> = {
  sentence:
    "A volume is made only of a whole image of a snapshot that is not being made any more; by a first boot, of one that was ready.",
  broken: (before, _, after) => {
    const { context } = sandboxOf(before)
    const { snapshotId } = context
    if (snapshotId === null || before.world.hasVolume || !after.world.hasVolume) return null
    const { state, tags } = before.actor(snapshotId)!
    const { has } = imageOf(before, snapshotId)
    const isWhole = has === "whole" && !tags.has("awaited")
    if (isWhole && (wasReadyIn(before, snapshotId) || !hasNeverRun(context))) return null
    return `The image is ${has}, and ${snapshotId} ${state}.`
  }
}

const neededImagesStay: EdgeInvariant<World> = {
  sentence: "The image of a snapshot that was ready, and is not lost, is not removed while a first boot waits for it.",
  broken: (before, _, after) =>
    firstOf(before, ({ id, tags }) => {
      if (imageOf(before, id).has !== "whole" || imageOf(after, id).has !== "none") return null
      const isPromised = wasReadyIn(before, id) && (tags.has("bootable") || tags.has("removed"))
      return isPromised && waitsForImage(sandboxOf(before), id) ? `The image of ${id} is removed.` : null
    })
}

export const snapshotStates: ReadonlyArray<StateInvariant<World>> = [readyHasItsImage]
export const snapshotEdges: ReadonlyArray<EdgeInvariant<World>> = [
  deletionsAreTaken,
  nothingLeadsBack,
  deletedMeansGone,
  bootsAreOfReadyOnes,
  neededImagesStay
]

type Goal = Liveness<World>

/** By themselves: without a client, and without a fault. */
const alone: Goal["by"] = ["service", "time", "world"]

/** From every state in which some snapshot is so, there is a way to one in which none is. */
const ends = (sentence: string, is: (snapshot: ActorView, product: View) => boolean): Goal => {
  const isAny = (product: View) => snapshotsOf(product).some((snapshot) => is(snapshot, product))
  return { sentence, from: isAny, to: (product) => !isAny(product), by: alone }
}

const isWanted = ({ tags }: ActorView) => tags.has("awaited") || tags.has("bootable")

const firstBoot = (product: View): boolean => {
  const { tags, context } = sandboxOf(product)
  return context.snapshotId !== null && context.startedAt === null && tags.has("awaited")
}

/** Those that no client has changed. */
const readyCheckpoints = (product: View): number =>
  snapshotsOf(product).filter((one) => isPassingOne(one) && one.tags.has("bootable")).length
const keptCheckpoints = (product: View): number => sandboxOf(product).context.checkpoints?.keep ?? 0

const isPassingOne = ({ tags, context }: ActorView): boolean => isPassing(context as never) && !tags.has("removed")

export const snapshotLiveness: ReadonlyArray<Goal> = [
  ends(
    "No checkpoint outlives its Sandbox but one that a client has changed.",
    (snapshot, product) => isPassingOne(snapshot) && sandboxOf(product).tags.has("gone")
  ),
  {
    sentence: "Of the checkpoints that no client has changed, those that are over the number go.",
    from: (product) => readyCheckpoints(product) > keptCheckpoints(product),
    to: (product) => readyCheckpoints(product) <= keptCheckpoints(product),
    by: alone
  },
  ends("A capture ends.", ({ tags }) => tags.has("awaited")),
  ends("A deletion of a snapshot ends.", ({ tags }) => tags.has("removed") && !tags.has("gone")),
  ends("No image stays on the host that no snapshot has, or one that failed or is deleted.", (snapshot, product) => {
    const { has, isCopying } = imageOf(product, snapshot.id)
    return (has === "whole" || isCopying) && !isWanted(snapshot)
  }),
  ends(
    "A snapshot whose image is lost does not stay ready.",
    ({ id, tags }, product) => tags.has("bootable") && imageOf(product, id).has === "lost"
  ),
  {
    sentence: "A Sandbox of a snapshot does not wait for ever: it runs, or says why not.",
    from: firstBoot,
    to: (product) => !firstBoot(product),
    by: alone
  }
]
