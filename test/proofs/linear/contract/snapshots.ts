/**
 * Snapshots and the Sandboxes that are made of them. A snapshot has the files of one moment between its request and its `ready`, and outlives its Sandbox.
 * A deletion wins, and may be repeated. A fork is a snapshot and Sandboxes of it, once for each key.
 */
import { type Answer, isOf, type SnapshotSeen } from "../calls.ts"
import { answersWithinMs, slackMs } from "./refusals.ts"
import { type ChildState, type Next, type SnapshotState, type State, type Step, when } from "./State.ts"

const withSnapshot = (state: State, by: string, change: Partial<SnapshotState>): State => ({
  ...state,
  snapshots: { ...state.snapshots, [by]: { ...state.snapshots[by]!, ...change } }
})

const isRemoved = ({ status }: SnapshotState): boolean => status === "deleting" || status === "deleted"

/** Nothing writes to the volume. A copy that was begun in a rollback may end after that. */
const atRest: ReadonlyArray<State["status"]> = ["restoring", "stopped", "deleting"]

/** The host copies the volume: while there is one, and for a rollback once nothing writes to it any more. */
const mayBeCopied = ({ status, rollback }: State, by: string, { isKept }: SnapshotState): boolean =>
  isKept ? rollback?.by === by && !rollback.isReplaced && atRest.includes(status) : status !== "deleted"

/** There is no volume any more; or none yet, because it was stopped in its first boot; or its rollback does not take place. */
const mayFail = ({ status, rollback, log }: State, by: string, { isKept }: SnapshotState): boolean =>
  status === "deleting" ||
  status === "deleted" ||
  !log.includes("running") ||
  (isKept && !(rollback?.by === by && rollback.outcome === "open"))

/** What snapshots become by themselves. */
export const snapshotsBecome = (state: State): Next =>
  Object.entries(state.snapshots).flatMap(([by, snapshot]) => {
    switch (snapshot.status) {
      case "creating":
        return [
          // A service that was killed before it noted the image has it copied again.
          ...when(
            mayBeCopied(state, by, snapshot),
            withSnapshot(state, by, { files: snapshot.isUnread ? {} : state.files })
          ),
          ...when(snapshot.files !== null, withSnapshot(state, by, { status: "ready", wasReady: true })),
          ...when(mayFail(state, by, snapshot), withSnapshot(state, by, { status: "failed", files: null }))
        ]
      case "deleting":
        return [withSnapshot(state, by, { status: "deleted" })]
      default:
        return []
    }
  })

export const snapshotShown = (state: State, by: string, seen: SnapshotSeen): Next => {
  const known = state.snapshots[by]
  if (known === undefined || (known.fixed !== null && known.fixed !== seen.fixed)) return []
  return when(known.status === seen.status && known.name === seen.name, withSnapshot(state, by, { fixed: seen.fixed }))
}

export const capturable: ReadonlyArray<State["status"]> = ["running", "stopped"]

export const limits = ["SNAPSHOT_LIMIT_REACHED", "SANDBOX_LIMIT_REACHED", "STORAGE_LIMIT_REACHED"]

/** A request looks at the Sandbox, and stores the snapshot a moment later. One with a key that is known looks at nothing. */
const looks = (state: State, by: string, answer: Answer | null): Next => {
  const isKnown = state.snapshots[by] !== undefined
  if (!isOf(answer, "refused")) return when(isKnown || capturable.includes(state.status), state)
  if (limits.includes(answer.code)) return when(!isKnown, state)
  if (answer.code === "NOT_FOUND") return when(!isKnown && state.status === "deleted", state)
  const isSo = answer.code === "SANDBOX_NOT_CAPTURABLE" && answer.status === state.status
  return when(isSo && !isKnown && !capturable.includes(state.status), state)
}

interface Stored {
  readonly name: string | null
  readonly isUnread?: boolean | undefined
  readonly isKept?: boolean
}

export const stored = (state: State, by: string, { name, isUnread = false, isKept = false }: Stored): State => {
  if (state.snapshots[by] !== undefined) return state
  const made: SnapshotState = { fixed: null, status: "creating", wasReady: false, name, files: null, isUnread, isKept }
  return { ...state, snapshots: { ...state.snapshots, [by]: made } }
}

export const snap: Step<"snap"> = (state, { by, name, isUnread }, answer, moment) => {
  if (moment === 0) return looks(state, by, answer)
  if (isOf(answer, "refused")) return [state]
  const next = stored(state, by, { name, isUnread })
  if (answer === null) return [next]
  return isOf(answer, "snapshot") ? snapshotShown(next, by, answer.snapshot) : []
}

export const snapGet: Step<"snapGet"> = (state, { by }, answer) =>
  isOf(answer, "snapshot") ? snapshotShown(state, by, answer.snapshot) : []

export const snapPatch: Step<"snapPatch"> = (state, { by, name }, answer) => {
  const known = state.snapshots[by]
  if (known === undefined) return []
  if (answer === null) return when(!isRemoved(known), withSnapshot(state, by, { name }))
  if (isOf(answer, "snapshot")) {
    return isRemoved(known) ? [] : snapshotShown(withSnapshot(state, by, { name }), by, answer.snapshot)
  }
  if (!isOf(answer, "refused")) return []
  if (answer.code === "NOT_FOUND") return when(known.status === "deleted", state)
  return when(answer.code === "SNAPSHOT_NOT_READY" && known.status === "deleting", state)
}

/** It wins over everything. Its second moment: the image is gone, unless that takes too long. */
export const snapDelete: Step<"snapDelete"> = (state, { by }, answer, moment) => {
  const known = state.snapshots[by]
  if (known === undefined || (answer !== null && answer.is !== "done")) return []
  if (moment === 0) return [isRemoved(known) ? state : withSnapshot(state, by, { status: "deleting" })]
  const isInTime = answer !== null && answer.ms < answersWithinMs.delete - slackMs
  return when(!isInTime || known.status === "deleted", state)
}

const withChildren = (state: State, names: ReadonlyArray<string>, of: string): State => ({
  ...state,
  children: {
    ...Object.fromEntries(names.map((by): readonly [string, ChildState] => [by, { of, id: null }])),
    ...state.children
  }
})

/** Those that were told before are the same ones. */
const named = (state: State, names: ReadonlyArray<string>, ids: ReadonlyArray<string>): Next => {
  const isSame = names.every((by, place) => [null, ids[place]].includes(state.children[by]?.id ?? null))
  const told = names.map((by, place) => [by, { ...state.children[by]!, id: ids[place]! }] as const)
  return when(isSame && ids.length === names.length, {
    ...state,
    children: { ...state.children, ...Object.fromEntries(told) }
  })
}

/** Only a snapshot that is ready has Sandboxes made of it. Its deletion waits for their first boots. */
export const child: Step<"child"> = (state, { by, of }, answer) => {
  const isKnown = state.children[by] !== undefined
  const status = state.snapshots[of]?.status
  const next = isKnown ? state : withChildren(state, [by], of)
  if (answer === null) return when(isKnown || status === "ready", next)
  if (isOf(answer, "children")) return isKnown || status === "ready" ? named(next, [by], answer.ids) : []
  if (!isOf(answer, "refused")) return []
  if (limits.includes(answer.code)) return [state]
  return when(answer.code === "SNAPSHOT_NOT_READY" && !isKnown && status !== "ready" && answer.status === status, state)
}

export const childNames = (by: string, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, place) => `${by}/${place}`)

export const fork: Step<"fork"> = (state, { by, count, isUnread }, answer, moment) => {
  if (moment === 0) return looks(state, by, answer)
  if (isOf(answer, "refused")) return [state]
  const names = childNames(by, count)
  if (moment === 1) return [withChildren(stored(state, by, { name: null, isUnread }), names, by)]
  if (answer === null) return [state]
  if (!isOf(answer, "children") || answer.snapshot === null) return []
  const next = snapshotShown(state, by, answer.snapshot)
  return answer.isWhole ? next.flatMap((one) => named(one, names, answer.ids)) : next
}

/** Its files are those of the snapshot. A refusal says nothing: it boots, or its snapshot was deleted before it could. */
export const childRead: Step<"childRead"> = (state, { by, path }, answer) => {
  if (answer === null || isOf(answer, "refused")) return [state]
  const snapshot = state.snapshots[state.children[by]?.of ?? ""]
  const files = snapshot?.wasReady === true ? snapshot.files : null
  return when(isOf(answer, "text") && files !== null && (files[path] ?? null) === answer.text, state)
}
