/**
 * Snapshots in the product: what can come of their commands (`src/snapshot/SnapshotDefinition.ts`), what clients, their host and its reconciler do, and
 * the boot of a Sandbox that is made of one (`src/sandbox/bootImage.ts`).
 */
import { hasNeverRun, openRollback, originOf } from "../../../machines/sandbox.ts"
import { wasReady } from "../../../machines/snapshot.ts"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { NOW } from "../../../src/proofs/explore/canonical.ts"
import type { ActorKind, ActorView, Happening, Outcome } from "../../../src/proofs/explore/Product.ts"
import { type Happenings, type Images, noImage, reason, sandboxOf, soon, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]
type Image = Images[string]

export const imageOf = ({ world }: View, id: string): Image => world.images[id] ?? noImage

export const snapshotsOf = ({ actors }: View): ReadonlyArray<ActorView> =>
  actors.filter(({ kind }) => kind === "snapshot")

const withImage = (product: View, id: string, change: Partial<Image>): World => {
  const { world } = product
  return { ...world, images: { ...world.images, [id]: { ...imageOf(product, id), ...change } } }
}

/** The volume of which the image is a copy: of the product's Sandbox, or of one that the product does not have. */
const hasSource = ({ world }: View): boolean =>
  world.source === "there" || (world.source === "sandbox" && world.hasVolume)

const failed = { type: "CAPTURE_FAILED", reason }

/** The host copies for a while: the command may be superseded or fail meanwhile, and the host goes on. */
const captures: Table["captureSnapshot"]["outcomes"] = (self, _, product) => {
  const { has, isCopying } = imageOf(product, self.id)
  const { rollbackId } = self.context
  if (rollbackId !== null) {
    // `untilStopped.ts`.
    const { context, tags } = sandboxOf(product)
    if (openRollback(context as never)?.rollbackId !== rollbackId) return [{ label: "gives up", answer: failed }]
    if (!tags.has("restoring")) return []
  }
  const fails: Outcome<World> = { label: "seems to fail", isFault: true, answer: failed }
  if (has === "whole") {
    const answer = { type: "CAPTURED", hostId: null, sizeBytes: 1, storedBytes: 1, pausedMs: 0 }
    return [{ label: "finds the image", answer }, fails]
  }
  if (isCopying) return [fails]
  if (!hasSource(product)) return [{ label: "finds no volume", answer: failed }]
  return [{ label: "begins to copy", world: withImage(product, self.id, { isCopying: true }), goesOn: true }, fails]
}

/** Its Sandbox waits for the first boot. */
export const waitsForImage = (sandbox: ActorView, snapshotId: string): boolean =>
  sandbox.tags.has("awaited") && originOf(sandbox.context) === snapshotId

/** It does not wait for a copy that the host goes on with: the reconciler finds what that leaves. */
const removes: Table["removeSnapshot"]["outcomes"] = (self, _, product) => {
  const sandbox = sandboxOf(product)
  const isForRollback = openRollback(sandbox.context as never)?.snapshotId === self.id
  if (wasReady(self.context) && (isForRollback || waitsForImage(sandbox, self.id))) return []
  return [
    {
      label: "removes the image",
      world: withImage(product, self.id, { has: "none" }),
      answer: { type: "IMAGE_GONE" }
    }
  ]
}

export const snapshotCommands: Table = {
  captureSnapshot: { lane: "image", outcomes: captures },
  removeSnapshot: { lane: "image", outcomes: removes },
  // Only of checkpoints, which `checkpoints.ts` has.
  supersedeOlder: { lane: null, outcomes: () => [{ label: "has no others" }] },
  meter: {
    lane: null,
    outcomes: (_, __, product) => [
      {
        label: "posts what it stores",
        tells: product.actor("wallet") === null ? [] : [{ to: "wallet", event: { type: "CHANGED" } }]
      }
    ],
    isUrgent: true
  }
}

/** As `lackOf` of `src/sandbox/bootImage.ts`. */
const lacksImage = ({ tags, context }: ActorView): boolean =>
  !tags.has("bootable") && (!tags.has("removed") || !wasReady(context as never) || tags.has("gone"))

/** A Sandbox of a snapshot: its first boot waits until that is made. */
export const bootsOf =
  (boots: Table["provision"]["outcomes"]): Table["provision"]["outcomes"] =>
  (self, params, product) => {
    const { generation } = self.context
    const snapshotId = originOf(self.context)
    if (snapshotId === null) return boots(self, params, product)
    const missing = { label: "misses the snapshot", answer: { type: "RUNTIME_FAILED", generation, reason } }
    const snapshot = product.actor(snapshotId)
    if (snapshot === null) return [missing]
    if (snapshot.tags.has("awaited")) return []
    if (hasNeverRun(self.context) && lacksImage(snapshot)) return [missing]
    // The host has the last word: it makes no empty volume instead.
    return product.world.hasVolume || imageOf(product, snapshotId).has === "whole"
      ? boots(self, params, product)
      : [missing]
  }

const changes = [{ expiresAt: soon }, { expiresAt: null }]

/** What clients ask of each snapshot that there is. A change speaks of the edition that its client has seen. */
export const clientsOfSnapshots: Happenings = (product) =>
  snapshotsOf(product).flatMap(({ id, context }) => {
    const asks = (label: string, event: AnyEvent): Happening<World> => ({
      by: "client",
      label,
      tells: [{ to: id, event }]
    })
    const change = (fields: object, edition: number) => ({ type: "CHANGED", edition, changes: fields })
    return [
      asks(`a client deletes ${id}`, { type: "DELETE" }),
      ...changes.map((fields) =>
        asks(
          `a client ${fields.expiresAt === null ? "keeps" : "sets an end of"} ${id}`,
          change(fields, context.edition)
        )
      ),
      asks(`a client changes ${id} as it was before another change`, change({ name: "late" }, context.edition - 1))
    ]
  })

export const snapshotInput = (snapshotId: string, sandboxId: string) => ({
  snapshotId,
  accountId: "acc",
  workspaceId: "wsp",
  sandboxId,
  sandboxRevision: 1,
  generation: 1,
  hostId: null,
  name: null,
  expiresAt: null,
  runtime: "namespace",
  profile: { vcpus: 1, memoryBytes: 1, diskBytes: 1 },
  networkEnabled: true,
  sandboxName: null,
  metadata: {},
  env: null,
  lifetime: null,
  image: null,
  memory: false,
  rollbackId: null,
  at: NOW
})

/** `rollbackSandbox.ts`: the snapshot of the present volume is stored first, and is given up where the Sandbox does not take the event. */
export const rollsBack =
  (snapshotId: string, keptId: string): Happenings =>
  (product) => {
    if (!product.actor(snapshotId)?.tags.has("bootable") || !sandboxOf(product).tags.has("capturable")) return []
    const event = (kept: string | null) => ({
      to: "sandbox",
      event: { type: "ROLLBACK", rollbackId: kept ?? "without", snapshotId, keptId: kept }
    })
    const asked: Array<Happening<World>> = [
      { by: "client", label: "a client rolls it back and keeps nothing", tells: [event(null)] }
    ]
    if (product.actor(keptId) !== null) return asked
    const input = { ...snapshotInput(keptId, "sandbox"), rollbackId: keptId }
    return [
      ...asked,
      { by: "client", label: "a client rolls it back", makes: [{ name: keptId, input }], tells: [event(keptId)] }
    ]
  }

/** `createSnapshot.ts` looks at the Sandbox before it stores the snapshot: the Sandbox may have been deleted by then. */
export const takesSnapshots =
  (names: ReadonlyArray<string>): Happenings =>
  (product) => {
    const { world } = product
    const free = names.find((name) => product.actor(name) === null)
    if (free === undefined) return []
    if (!world.isCapturing) {
      if (!sandboxOf(product).tags.has("capturable")) return []
      return [{ by: "client", label: "a request finds it capturable", world: { ...world, isCapturing: true } }]
    }
    return [
      {
        by: "service",
        label: "the request stores a snapshot",
        world: { ...world, isCapturing: false },
        makes: [{ name: free, input: snapshotInput(free, "sandbox") }]
      }
    ]
  }

const isAbsent = ({ tags }: ActorView): boolean => tags.has("imageless")

/** What the host does by itself. A copy may also end without an image. */
export const hostsImages: Happenings = (product) =>
  snapshotsOf(product).flatMap(({ id, tags }): ReadonlyArray<Happening<World>> => {
    const { has, isCopying } = imageOf(product, id)
    const found: Array<Happening<World>> = []
    if (isCopying) {
      const world = withImage(product, id, { isCopying: false, has: "whole", isStray: !tags.has("awaited") })
      found.push({ by: "world", label: `the copy for ${id} is whole`, world })
      found.push({
        by: "fault",
        label: `the copy for ${id} breaks off`,
        world: withImage(product, id, { isCopying: false })
      })
    }
    if (has === "whole") {
      found.push({
        by: "fault",
        label: `the host loses the image of ${id}`,
        world: withImage(product, id, { has: "lost" })
      })
    }
    return found
  })

/** The volume that a snapshot was asked of goes with its Sandbox. */
export const sourceGoes: Happenings = ({ world }) =>
  world.source === "there"
    ? [{ by: "client", label: "the snapshot's Sandbox is deleted", world: { ...world, source: "gone" } }]
    : []

/** `snapshotPass.ts`. */
export const imagesReconciler: Happenings = (product) =>
  snapshotsOf(product).flatMap((snapshot): ReadonlyArray<Happening<World>> => {
    const { id, tags } = snapshot
    const { has } = imageOf(product, id)
    if (has === "whole" && isAbsent(snapshot)) {
      return [
        {
          by: "service",
          label: `the reconciler removes the image of ${id}`,
          world: withImage(product, id, { has: "none" })
        }
      ]
    }
    if (has === "whole" || !tags.has("bootable")) return []
    return [
      {
        by: "service",
        label: `the reconciler misses the image of ${id}`,
        tells: [{ to: id, event: { type: "SNAPSHOT_LOST", reason } }]
      }
    ]
  })
