/** An image that is built in the product's Sandbox, by one operation: what can come of its commands (`src/image/build/buildImage.ts`, `ImageDefinition.ts`). */
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorKind, ActorView, Outcome } from "../../../src/proofs/explore/Product.ts"
import { imageCommands, imageInput, isArchived } from "./images.ts"
import { type Happenings, hasGuest, reason, sandboxOf, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]

export const buildOperation = "operation1"

const withArchive = ({ world }: View, hasArchive: boolean): World => ({ ...world, hasArchive })

const failed = { type: "BUILD_FAILED", reason }

/** `builderOf`: it waits for a boot, and wakes a Sandbox that sleeps. Null: the Sandbox runs. */
const obstacle = (product: View): ReadonlyArray<Outcome<World>> | null => {
  const { tags } = sandboxOf(product)
  if (tags.has("up")) return null
  if (tags.has("asleep"))
    return [{ label: "wakes its Sandbox", tells: [{ to: "sandbox", event: { type: "START" } }], goesOn: true }]
  return tags.has("awaited") ? [] : [{ label: "finds no Sandbox", answer: failed }]
}

const operationInput = (generation: number) => ({
  ...{ operationId: buildOperation, accountId: "acc", sandboxId: "sandbox" },
  ...{ generation, timeoutMs: 60_000, at: NOW }
})

const takes = (operation: ActorView, product: View): ReadonlyArray<Outcome<World>> => {
  if (operation.context.exitCode !== 0) return [{ label: "sees that its operation failed", answer: failed }]
  const waits = obstacle(product)
  if (waits !== null) return waits
  if (!hasGuest(product, sandboxOf(product).context.generation)) return []
  const world = withArchive(product, true)
  return [
    { label: "has a host take the archive", world, answer: { type: "BUILT" } },
    { label: "has a host take the archive, and does not say so yet", world, goesOn: true },
    { label: "finds no archive", isFault: true, answer: failed }
  ]
}

const builds: Table["buildImage"]["outcomes"] = (self, _, product) => {
  const operation = product.actor(buildOperation)
  if (operation === null) {
    const { generation } = sandboxOf(product).context
    return (
      obstacle(product) ?? [
        {
          label: "starts its operation",
          makes: [{ name: buildOperation, input: operationInput(generation) }],
          goesOn: true
        }
      ]
    )
  }
  if (self.context.build.operationId === null) {
    const event = { type: "BUILD_BEGUN", operationId: buildOperation }
    return [{ label: "names its operation", tells: [{ to: self.id, event }], goesOn: true }]
  }
  return operation.tags.has("terminal") ? takes(operation, product) : []
}

const makes: Table["pullImage"]["outcomes"] = (self, params, product) => {
  if (!self.context.build.isOver) return [{ label: "has to be built", answer: { type: "BUILD" } }]
  if (product.world.hasArchive) return imageCommands["pullImage"]!.outcomes(self, params, product)
  return [{ label: "finds no archive", answer: { type: "PULL_FAILED", reason } }]
}

const deletesBuilder: Outcome<World> = {
  label: "deletes the build's Sandbox",
  tells: [{ to: "sandbox", event: { type: "DELETE" } }]
}

const removes: Table["removeImage"]["outcomes"] = (self, params, product) => {
  const { tags } = sandboxOf(product)
  const isDeleted = tags.has("volumeless") && (tags.has("gone") || !tags.has("ended"))
  if (!isDeleted) return [{ ...deletesBuilder, goesOn: true }]
  if (product.world.hasArchive)
    return [{ label: "discards the archive", world: withArchive(product, false), goesOn: true }]
  return imageCommands["removeImage"]!.outcomes(self, params, product)
}

export const builtImageCommands: Table = {
  ...imageCommands,
  pullImage: { lane: "image", outcomes: makes },
  buildImage: { lane: "image", outcomes: builds },
  endBuild: { lane: null, outcomes: () => [deletesBuilder] },
  removeImage: { lane: "image", outcomes: removes }
}

/** `imagePass.ts`: archives that no image waits for. */
export const archivesReconciler: Happenings = (product) =>
  product.world.hasArchive && !isArchived(product)
    ? [
        {
          by: "service",
          label: "the reconciler discards the archive",
          world: withArchive(product, false)
        }
      ]
    : []

export const builtImageInput = {
  ...imageInput,
  reference: null,
  build: { sandboxId: "sandbox", operationId: null, dockerfile: null, target: null, isOver: false }
}
