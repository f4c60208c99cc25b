/** Checkpoints in the product (`src/snapshot/sandboxCheckpoints.ts`): a Sandbox takes snapshots by itself, and keeps one. */
import { hadCheckpoints } from "../../../machines/checkpoints.ts"
import { isPassing } from "../../../machines/snapshot.ts"
import type { ActorKind, ActorView, Happening } from "../../../src/proofs/explore/Product.ts"
import { plainSandboxCommands } from "./sandboxCommands.ts"
import { snapshotInput, snapshotsOf } from "./snapshots.ts"
import { type Happenings, reason, sandboxOf, type View, type World } from "./World.ts"

type Table = ActorKind<World>["commands"]

export const checkpointNames = ["checkpoint1", "checkpoint2"] as const

const isPassingOne = ({ tags, context }: ActorView) => isPassing(context as never) && !tags.has("removed")

const supersedes = (actors: ReadonlyArray<ActorView>) =>
  actors.map(({ id }) => ({ to: id, event: { type: "SUPERSEDED" } }))

/** All of them once the Sandbox is deleted; else all but the one that is ready. */
const outdated = (self: ActorView, product: View) => {
  const passing = snapshotsOf(product).filter(isPassingOne)
  if (sandboxOf(product).tags.has("volumeless")) return passing
  return passing.filter(({ id, tags }) => id !== self.id && !tags.has("awaited"))
}

export const supersedeOlder: Table["supersedeOlder"] = {
  lane: null,
  outcomes: (self, _, product) => [{ label: "supersedes the others", tells: supersedes(outdated(self, product)) }]
}

const takes: Table["takeCheckpoint"]["outcomes"] = (_, __, product) => {
  const refused = { label: "a limit refuses it", answer: { type: "CHECKPOINT_REFUSED", reason } }
  const free = checkpointNames.find((name) => product.actor(name) === null)
  // It may have looked at the Sandbox before that was deleted.
  const { context } = sandboxOf(product)
  const isTaking = snapshotsOf(product).some((one) => isPassingOne(one) && one.tags.has("awaited"))
  if (free === undefined || isTaking || context.startedAt === null) return [refused]
  return [
    {
      label: "stores a checkpoint",
      makes: [{ name: free, input: { ...snapshotInput(free, "sandbox"), checkpoint: true } }],
      answer: { type: "CHECKPOINT_TAKEN", snapshotId: free }
    },
    // The service is killed before it has the answer: the command is repeated, and finds the snapshot by its key.
    refused
  ]
}

const destroys: Table["destroyRuntime"]["outcomes"] = (self, params, product) =>
  plainSandboxCommands["destroyRuntime"]!.outcomes(self, params, product).map((outcome) => ({
    ...outcome,
    tells: hadCheckpoints(self.context) ? supersedes(snapshotsOf(product).filter(isPassingOne)) : []
  }))

export const checkpointedSandboxCommands: Table = {
  ...plainSandboxCommands,
  takeCheckpoint: { lane: "checkpoint", outcomes: takes },
  destroyRuntime: { lane: "runtime", outcomes: destroys }
}

/** A client may keep a checkpoint, by any change. */
export const clientsOfCheckpoints: Happenings = (product) =>
  snapshotsOf(product)
    .filter(({ context }) => context.edition === 1)
    .map(
      ({ id, context }): Happening<World> => ({
        by: "client",
        label: `a client names ${id}`,
        tells: [{ to: id, event: { type: "CHANGED", edition: context.edition, changes: { name: "kept" } } }]
      })
    )

/** Retention forgets what is deleted; so there is room for the next one. */
export const forgottenCheckpoints: Happenings = (product) =>
  snapshotsOf(product).flatMap((snapshot): ReadonlyArray<Happening<World>> => {
    const { id, tags, commands, late } = snapshot
    if (!tags.has("gone") || commands.length > 0 || late.length > 0) return []
    const { [id]: image, ...images } = product.world.images
    if (image !== undefined && (image.isCopying || image.has === "whole")) return []
    return [
      {
        by: "service",
        label: `${id} is forgotten after its retention`,
        world: { ...product.world, images },
        removes: [id],
        isUrgent: true
      }
    ]
  })
