/**
 * Rollbacks: the volume of a snapshot takes the place of the Sandbox's, which first becomes a snapshot itself. It is whole or not at all. A Sandbox that ran
 * boots again, another one stays stopped; either way it has a new generation. A key rolls back once.
 */
import { type Answer, isOf } from "../calls.ts"
import { refused } from "./refusals.ts"
import { type Next, type RollbackState, type State, type Step, when } from "./State.ts"
import { boots, enter, shown } from "./sandbox.ts"
import { capturable, limits, snapshotShown, stored } from "./snapshots.ts"

/** Of the snapshot of the volume before. */
export const keptName = "Before a rollback"

/** The moment in which the Sandbox is asked, of how many. */
export const acceptedIn = 2
export const rollbackMoments = 5

const withRollback = (state: State, rollback: RollbackState, change: Partial<RollbackState>): State => ({
  ...state,
  rollback: { ...rollback, ...change }
})

/** It fails only where the volume before was not kept: then nothing has changed. */
const ends = (state: State, rollback: RollbackState): Next => {
  const kept = state.snapshots[rollback.by]!
  const done = withRollback(state, rollback, { outcome: "done" })
  if (rollback.isReplaced)
    return [state.restarts ? boots(done) : enter({ ...done, generation: state.generation + 1 }, "stopped")]
  if (kept.wasReady || kept.status === "creating") return []
  const failed = withRollback(state, rollback, { outcome: "failed" })
  return [state.restarts ? boots(failed) : enter({ ...failed, reason: "NOT_KEPT" }, "stopped")]
}

/** What a rollback becomes by itself, once its Sandbox has stopped. */
export const rollsOn = (state: State): Next => {
  const { status, rollback } = state
  if (status !== "restoring" || rollback?.outcome !== "open") return []
  const files = state.snapshots[rollback.of]?.files ?? null
  const isKept = state.snapshots[rollback.by]!.wasReady
  const replaced =
    !rollback.isReplaced && isKept && files !== null
      ? [{ ...withRollback(state, rollback, { isReplaced: true }), files }]
      : []
  return [...replaced, ...ends(state, rollback)]
}

/** First at the Sandbox, then at the snapshot. One with a key that is known looks at nothing, and a refusal is judged in the moment that follows. */
const looks = (state: State, by: string, of: string, moment: number): boolean =>
  state.snapshots[by] !== undefined ||
  (moment === 0 ? capturable.includes(state.status) : state.snapshots[of]?.status === "ready")

const accepted = (state: State, by: string, of: string, isUnread: boolean | undefined): Next => {
  if (state.snapshots[by] !== undefined) return [state]
  const next: State = {
    ...stored(state, by, { name: keptName, isUnread, isKept: true }),
    reason: null,
    restarts: state.status === "running",
    rollback: { by, of, outcome: "open", isReplaced: false }
  }
  return when(capturable.includes(state.status), enter(next, state.status === "running" ? "stopping" : "restoring"))
}

const declined = (state: State, of: string, answer: Answer): Next => {
  if (!isOf(answer, "refused")) return []
  if (limits.includes(answer.code)) return [state]
  if (answer.code === "SNAPSHOT_NOT_READY") {
    const status = state.snapshots[of]?.status
    return when(status !== "ready" && answer.status === status, state)
  }
  if (answer.code !== "SANDBOX_CANNOT_ROLL_BACK") return refused(state, answer, [])
  return when(answer.status === state.status && !capturable.includes(state.status), state)
}

/**
 * It looks twice, is accepted, and is then answered with what the Sandbox is by then, and a moment later the snapshot of its volume before.
 */
export const rollback: Step<"rollback"> = (state, { by, of, isUnread }, answer, moment) => {
  if (moment < acceptedIn) return when(isOf(answer, "refused") || looks(state, by, of, moment), state)
  const next = accepted(state, by, of, isUnread)
  if (moment === acceptedIn) {
    if (answer === null || isOf(answer, "rolledBack")) return next
    // It may have been deleted between its rollback and the answer.
    const isGone = isOf(answer, "refused") && answer.code === "NOT_FOUND"
    return isGone ? [...declined(state, of, answer), ...next] : declined(state, of, answer)
  }
  if (answer === null) return [state]
  if (isOf(answer, "refused")) return when(answer.code !== "NOT_FOUND" || state.status === "deleted", state)
  if (!isOf(answer, "rolledBack")) return []
  return moment === acceptedIn + 1 ? shown(state, answer.sandbox) : snapshotShown(state, by, answer.kept)
}
