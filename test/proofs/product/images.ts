/** Images in the product: what can come of their commands (`src/image/ImageDefinition.ts`), what clients ask, and the reconciler of their host. */
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorKind, ActorView, Happening } from "../../../src/proofs/explore/Product.ts"
import { type Happenings, type Images, noImage, reason, sandboxOf, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]

export const rootsOf = ({ actors }: View): ReadonlyArray<ActorView> => actors.filter(({ kind }) => kind === "image")

export const rootOf = ({ world }: View, id: string): Images[string] => world.images[id] ?? noImage

const withRoot = (product: View, id: string, has: Images[string]["has"]): World => {
  const { world } = product
  return { ...world, images: { ...world.images, [id]: { ...rootOf(product, id), has } } }
}

/** The removal does not wait for a lost host, whose reconciler removes the image when the host is back. */
const missed = (product: View, id: string): World => {
  const { world } = product
  return { ...world, images: { ...world.images, [id]: { ...rootOf(product, id), isStray: true } } }
}
/** A host may have an archive for one of them. */
export const isArchived = (product: View): boolean =>
  rootsOf(product).some(({ tags }) => tags.has("built") || tags.has("awaited"))

/** The product's Sandbox has it for its root. */
export const isNeeded = (product: View, id: string): boolean => {
  const { context, tags } = sandboxOf(product)
  return context.image?.imageId === id && !tags.has("gone")
}

const pulled = { type: "PULLED", digest: "sha256:one", sizeBytes: 1, storedBytes: 1, env: null }

const pulls: Table["pullImage"]["outcomes"] = (self, _, product) => [
  { label: "pulls the image", world: withRoot(product, self.id, "whole"), answer: pulled },
  { label: "has the image, and does not say so yet", world: withRoot(product, self.id, "whole"), goesOn: true },
  { label: "is refused by the host", isFault: true, answer: { type: "PULL_FAILED", reason } }
]

/** Only of an image that is built: see `builtImages.ts`. */
const builds: Table["buildImage"]["outcomes"] = () => []

const removes: Table["removeImage"]["outcomes"] = (self, _, product) =>
  isNeeded(product, self.id)
    ? []
    : [
        {
          label: "removes the image",
          world:
            rootOf(product, self.id).has === "lost" ? missed(product, self.id) : withRoot(product, self.id, "none"),
          answer: { type: "IMAGE_REMOVED" }
        }
      ]

export const imageCommands: Table = {
  pullImage: { lane: "image", outcomes: pulls },
  buildImage: { lane: "image", outcomes: builds },
  endBuild: { lane: null, outcomes: () => [{ label: "deletes the build's Sandbox" }] },
  removeImage: { lane: "image", outcomes: removes },
  meter: { lane: null, outcomes: () => [{ label: "posts what it stores" }], isUrgent: true }
}

/** Also while a Sandbox needs it: a create may commit after the look of `deleteImage.ts`. */
export const clientsOfImages: Happenings = (product) =>
  rootsOf(product).map(
    ({ id }): Happening<World> => ({
      by: "client",
      label: `a client deletes ${id}`,
      tells: [{ to: id, event: { type: "DELETE" } }]
    })
  )

/** The only host that has it is lost, and may come back with it. */
export const hostsRoots: Happenings = (product) =>
  rootsOf(product).flatMap(({ id }): ReadonlyArray<Happening<World>> => {
    const { has } = rootOf(product, id)
    if (has === "none") return []
    return has === "whole"
      ? [{ by: "fault", label: `the host of ${id} is lost`, world: withRoot(product, id, "lost") }]
      : [{ by: "fault", label: `the host of ${id} comes back`, world: withRoot(product, id, "whole") }]
  })

/** `imagePass.ts`, and of a lost host `HostDefinition.ts`. */
export const rootsReconciler: Happenings = (product) =>
  rootsOf(product).flatMap(({ id, tags, context }): ReadonlyArray<Happening<World>> => {
    const { has } = rootOf(product, id)
    const by = "service"
    if (has === "lost" && tags.has("bootable")) {
      return [{ by, label: `${id} is lost`, tells: [{ to: id, event: { type: "IMAGE_LOST", reason } }] }]
    }
    if (has !== "whole" || !tags.has("rootless")) return []
    return context.digest === null || tags.has("gone")
      ? [{ by, label: `the reconciler removes the image ${id}`, world: withRoot(product, id, "none") }]
      : [{ by, label: `the reconciler finds ${id}`, tells: [{ to: id, event: { type: "IMAGE_FOUND" } }] }]
  })

/** It was uploaded: one of a registry is pulled again, and never lost. */
export const imageInput = {
  imageId: "image",
  accountId: "acc",
  name: null,
  reference: null,
  credentials: null,
  at: NOW
}

export const rootOfSandbox = { imageId: "image", reference: "sha256:one", digest: "sha256:one" }
