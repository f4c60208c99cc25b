/** The invariants of images over the explored product: what their rows and their host have of each other. */
import type { ActorView, EdgeInvariant, Liveness, StateInvariant } from "../../src/proofs/explore/Product.ts"
import { buildOperation } from "../proofs/product/builtImages.ts"
import { isNeeded, rootOf, rootsOf } from "../proofs/product/images.ts"
import { sandboxOf, type View, type World } from "../proofs/product/World.ts"

/** The first answer about an image that is not null. */
const firstOf = (product: View, look: (image: ActorView) => string | null): string | null => {
  for (const image of rootsOf(product)) {
    const found = look(image)
    if (found !== null) return found
  }
  return null
}

const readyIsThere: StateInvariant<World> = {
  sentence: "An image is ready only when its host has it, unless the host is lost.",
  broken: (product) =>
    firstOf(product, ({ id, state, tags }) =>
      tags.has("bootable") && rootOf(product, id).has === "none" ? `${id} is ${state}, and not on the host.` : null
    )
}

/** It is made of the archive that its build made. */
const isMade = ({ tags, context }: ActorView): boolean => tags.has("awaited") && context.build?.isOver === true

const archivesAreThere: StateInvariant<World> = {
  sentence: "The archive of a build stays until an image is made of it.",
  broken: (product) =>
    firstOf(product, (image) =>
      isMade(image) && !product.world.hasArchive ? `${image.id} is made of an archive that is not there.` : null
    )
}

const deletionsAreTaken: EdgeInvariant<World> = {
  sentence: "A client's DELETE of an image is taken in every state.",
  broken: (before, { deliveries }) => {
    const refused = deliveries.find(
      ({ to, event, verdict }) => event.type === "DELETE" && verdict === "refused" && before.actor(to)?.kind === "image"
    )
    return refused === undefined ? null : `${refused.to} refused it in ${refused.from}: ${refused.code}.`
  }
}

const neededRootsStay: EdgeInvariant<World> = {
  sentence: "An image that was ready is not removed while a Sandbox has it.",
  broken: (before, _, after) =>
    firstOf(before, ({ id, context }) => {
      if (rootOf(before, id).has !== "whole" || rootOf(after, id).has !== "none") return null
      return context.readyAt !== null && isNeeded(before, id) ? `${id} is removed.` : null
    })
}

const deletedIsGone: EdgeInvariant<World> = {
  sentence: "An image is deleted only when its host has nothing of it, or was lost while it was removed.",
  broken: (before, _, after) =>
    firstOf(after, ({ id, tags }) =>
      tags.has("gone") &&
      before.actor(id)?.tags.has("gone") === false &&
      rootOf(after, id).has === "whole" &&
      !rootOf(after, id).isStray
        ? `${id} is deleted, and on the host.`
        : null
    )
}

export const imageStates: ReadonlyArray<StateInvariant<World>> = [readyIsThere, archivesAreThere]
export const imageEdges: ReadonlyArray<EdgeInvariant<World>> = [deletionsAreTaken, neededRootsStay, deletedIsGone]

/** By themselves: without a client, and without a fault. */
const alone: Liveness<World>["by"] = ["service", "time", "world"]

const ends = (sentence: string, is: (image: ActorView, product: View) => boolean): Liveness<World> => {
  const isAny = (product: View) => rootsOf(product).some((image) => is(image, product))
  return { sentence, from: isAny, to: (product) => !isAny(product), by: alone }
}

/** Its build is over, or was given up. */
const needsNoBuilder = ({ tags, context }: ActorView): boolean =>
  context.build !== null && !tags.has("built") && !(tags.has("awaited") && !context.build.isOver)

const isOperationOver = (product: View): boolean =>
  product.actor(buildOperation) === null || product.actor(buildOperation)!.tags.has("terminal")

export const imageLiveness: ReadonlyArray<Liveness<World>> = [
  ends(
    "A build begins its operation, and ends once that has ended.",
    ({ tags }, product) => tags.has("built") && isOperationOver(product)
  ),
  ends(
    "The Sandbox of a build is deleted once its image is not built any more.",
    (image, product) => needsNoBuilder(image) && !sandboxOf(product).tags.has("gone")
  ),
  ends("A pull ends.", ({ tags }) => tags.has("awaited")),
  ends(
    "A deletion of an image that nothing needs ends.",
    ({ id, tags }, product) => tags.has("stored") && !tags.has("bootable") && !isNeeded(product, id)
  ),
  ends(
    "An image whose host is lost does not stay ready.",
    ({ id, tags }, product) => tags.has("bootable") && rootOf(product, id).has === "lost"
  ),
  ends(
    "No image stays on the host whose record says that none is there.",
    ({ id, tags }, product) => tags.has("rootless") && rootOf(product, id).has === "whole"
  )
]
