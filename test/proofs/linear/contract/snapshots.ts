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

/** What snapshots become by themselves. The host copies the volume while there is one. */
export const snapshotsBecome = (state: State): Next =>
  Object.entries(state.snapshots).flatMap(([by, { status, isUnread }]) => {
    switch (status) {
      case "creating":
        return [
          ...when(
            state.status !== "deleted",
            withSnapshot(state, by, { status: "ready", files: isUnread ? {} : state.files })
          ),
          ...when(
            state.status === "deleting" || state.status === "deleted",
            withSnapshot(state, by, { status: "failed" })
          )
        ]
      case "deleting":
        return [withSnapshot(state, by, { status: "deleted" })]
      default:
        return []
    }
  })

const shown = (state: State, by: string, seen: SnapshotSeen): Next => {
  const known = state.snapshots[by]
  if (known === undefined || (known.fixed !== null && known.fixed !== seen.fixed)) return []
  return when(known.status === seen.status && known.name === seen.name, withSnapshot(state, by, { fixed: seen.fixed }))
}

const capturable: ReadonlyArray<State["status"]> = ["running", "stopped"]

const limits = ["SNAPSHOT_LIMIT_REACHED", "SANDBOX_LIMIT_REACHED", "STORAGE_LIMIT_REACHED"]

/** A request looks at the Sandbox, and stores the snapshot a moment later. One with a key that is known looks at nothing. */
const looks = (state: State, by: string, answer: Answer | null): Next => {
  const isKnown = state.snapshots[by] !== undefined
  if (!isOf(answer, "refused")) return when(isKnown || capturable.includes(state.status), state)
  if (limits.includes(answer.code)) return when(!isKnown, state)
  if (answer.code === "NOT_FOUND") return when(!isKnown && state.status === "deleted", state)
  const isSo = answer.code === "SANDBOX_NOT_CAPTURABLE" && answer.status === state.status
  return when(isSo && !isKnown && !capturable.includes(state.status), state)
}

const stored = (state: State, by: string, name: string | null, isUnread = false): State => {
  if (state.snapshots[by] !== undefined) return state
  const made: SnapshotState = { fixed: null, status: "creating", name, files: null, isUnread }
  return { ...state, snapshots: { ...state.snapshots, [by]: made } }
}

export const snap: Step<"snap"> = (state, { by, name, isUnread }, answer, moment) => {
  if (moment === 0) return looks(state, by, answer)
  if (isOf(answer, "refused")) return [state]
  const next = stored(state, by, name, isUnread)
  if (answer === null) return [next]
  return isOf(answer, "snapshot") ? shown(next, by, answer.snapshot) : []
}

export const snapGet: Step<"snapGet"> = (state, { by }, answer) =>
  isOf(answer, "snapshot") ? shown(state, by, answer.snapshot) : []

export const snapPatch: Step<"snapPatch"> = (state, { by, name }, answer) => {
  const known = state.snapshots[by]
  if (known === undefined) return []
  if (answer === null) return when(!isRemoved(known), withSnapshot(state, by, { name }))
  if (isOf(answer, "snapshot")) {
    return isRemoved(known) ? [] : shown(withSnapshot(state, by, { name }), by, answer.snapshot)
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
  if (moment === 1) return [withChildren(stored(state, by, null, isUnread), names, by)]
  if (answer === null) return [state]
  if (!isOf(answer, "children") || answer.snapshot === null) return []
  const next = shown(state, by, answer.snapshot)
  return answer.isWhole ? next.flatMap((one) => named(one, names, answer.ids)) : next
}

/** Its files are those of the snapshot. A refusal says nothing: it boots, or its snapshot was deleted before it could. */
export const childRead: Step<"childRead"> = (state, { by, path }, answer) => {
  if (answer === null || isOf(answer, "refused")) return [state]
  const files = state.snapshots[state.children[by]?.of ?? ""]?.files ?? null
  return when(isOf(answer, "text") && files !== null && (files[path] ?? null) === answer.text, state)
}
