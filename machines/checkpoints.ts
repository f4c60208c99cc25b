/** Checkpoints in the life of a Sandbox: when one is due, and what of it the machine remembers. A Sandbox that has not run since the last one takes none. */
import type { Checkpoints, SandboxContext } from "../schemas/contexts/Sandbox.ts"
import type { PublicReason } from "../schemas/PublicText.ts"

interface Told {
  readonly context: SandboxContext
  readonly event: {
    readonly type: string
    readonly at: number
    readonly generation?: number
    readonly snapshotId?: string
    readonly reason?: PublicReason
  }
}

/** Before version 5 there were none. */
export const withCheckpoints = (context: SandboxContext): SandboxContext =>
  context.checkpoints !== undefined
    ? context
    : {
        ...context,
        checkpoints: null,
        checkpointAt: null,
        ranSinceCheckpoint: context.startedAt !== null,
        lastCheckpoint: null,
        madeWith: context.madeWith === null ? null : { ...context.madeWith, checkpoints: null }
      }

/** A checkpoint of it was asked for. Its checkpoints are deleted with it. */
export const hadCheckpoints = ({ lastCheckpoint }: Pick<SandboxContext, "lastCheckpoint">): boolean =>
  lastCheckpoint !== null

/** The next one after this instant, in epoch milliseconds; null: none by time. */
export const checkpointAfter = (at: number, checkpoints: Checkpoints | null): number | null =>
  checkpoints === null || checkpoints.everySeconds === null ? null : Math.ceil(at + checkpoints.everySeconds * 1000)

export const checkpointDeadline = {
  type: "schedule",
  params: ({ context }: { readonly context: SandboxContext }) => ({
    name: "checkpoint",
    at: context.checkpointAt,
    event: { type: "CHECKPOINT_DUE" }
  })
} as const

/** What a state without a volume, or with a volume that is replaced, answers. */
export const lateCheckpoint = {
  CHECKPOINT_DUE: "STALE_DEADLINE",
  CHECKPOINT_TAKEN: "STALE_CHECKPOINT",
  CHECKPOINT_REFUSED: "STALE_CHECKPOINT"
}

/** The answers to a checkpoint that was asked for, while there is a volume. */
export const answeredCheckpoint = {
  CHECKPOINT_TAKEN: { actions: ["noteCheckpoint"], description: "The snapshot of its checkpoint is being made." },
  CHECKPOINT_REFUSED: {
    actions: ["noteCheckpoint"],
    description: "No checkpoint could be taken; the next one is tried at its time."
  }
} as const

/** Without a runtime: nothing changes the volume until it runs again, so no further one is taken before that. */
export const checkpointAtRest = {
  guard: "hasCheckpoint",
  actions: ["noteCheckpointAtRest", { type: "unschedule", params: { name: "checkpoint" } }, { type: "takeCheckpoint" }]
} as const

/** The event speaks of the present generation, and a checkpoint is wanted when that has stopped. */
export const isCheckpointedAtStop = ({ context, event }: Told): boolean =>
  context.checkpoints?.onStop === true && context.ranSinceCheckpoint && event.generation === context.generation

const asked = (at: number) => ({ at, snapshotId: null, error: null })

export const checkpointDue = ({ context, event: { at } }: Told) => ({
  checkpointAt: checkpointAfter(at, context.checkpoints),
  lastCheckpoint: asked(at)
})

export const checkpointDueAtRest = ({ event: { at } }: Told) => ({
  checkpointAt: null,
  ranSinceCheckpoint: false,
  lastCheckpoint: asked(at)
})

export const checkpointAnswered = ({ context, event: { at, snapshotId, reason } }: Told) => ({
  lastCheckpoint: { at: context.lastCheckpoint?.at ?? at, snapshotId: snapshotId ?? null, error: reason ?? null }
})
