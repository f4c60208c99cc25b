/**
 * The Sandbox itself. Calls that wait (start, stop, delete) have two moments: they are accepted, and later answered with what the Sandbox is by then.
 */
import { type Answer, isOf, type SandboxSeen } from "../calls.ts"
import { commandsOver } from "./commands.ts"
import { previewsOver } from "./previews.ts"
import { answersWithinMs, refused, slackMs } from "./refusals.ts"
import { type Next, notMade, type State, type Step, when } from "./State.ts"

/** What lives in a Sandbox has ended when the answer to its stop comes, unless that took longer than this. */
const dependentsAnswerMs = 2_000

export const enter = (state: State, status: NonNullable<State["status"]>): State => ({
  ...state,
  status,
  changedAt: null,
  log: [...state.log, status]
})

export const boots = (state: State): State =>
  enter({ ...state, generation: state.generation + 1, restarts: false, reason: null }, "pending")

/** A boot that takes longer than it may: the first one has failed, and a later one is ended. */
const bootsTooLong = (state: State): State =>
  enter({ ...state, reason: "BOOT_TIMEOUT" }, state.generation === 1 ? "failed" : "stopping")

/** What it becomes by itself. */
export const becomes = (state: State): Next => {
  switch (state.status) {
    case "pending":
      return [enter({ ...state, reason: null }, "running"), bootsTooLong(state)]
    case "stopping":
      if (state.rollback?.outcome === "open") return [enter(state, "restoring")]
      return [state.restarts ? boots(state) : enter(state, "stopped")]
    case "deleting":
      return [enter({ ...state, reason: null }, "deleted")]
    default:
      return []
  }
}

/** One that is under way has no effect, unless the host has replaced the volume. */
const rollbackFailed = (state: State): State =>
  state.rollback?.outcome === "open" ? { ...state, rollback: { ...state.rollback, outcome: "failed" } } : state

/** Its host is lost, and the runtime with it. The volume waits there; a start is refused until then. */
export const loses = (state: State): Next => {
  const lost: State = { ...rollbackFailed(state), reason: "HOST_LOST", restarts: false }
  switch (state.status) {
    case "running":
    case "stopping":
    case "restoring":
      return [enter(lost, "stopped")]
    case "pending":
      return [enter(lost, state.generation === 1 ? "failed" : "stopped")]
    default:
      return []
  }
}

const sees = (known: string | null, seen: string) => known === null || known === seen

/** The Sandbox is there and is what the answer shows. */
export const shown = (state: State, seen: SandboxSeen): Next => {
  const { status, reason, generation, name, label, fixed, changedAt, rollback } = state
  const isSo =
    status !== null &&
    status === seen.status &&
    reason === seen.reason &&
    generation === seen.generation &&
    name === seen.name &&
    label === seen.label &&
    (rollback?.outcome ?? null) === seen.rollback &&
    sees(fixed, seen.fixed) &&
    sees(changedAt, seen.changedAt)
  return when(isSo, { ...state, fixed: seen.fixed, changedAt: seen.changedAt })
}

/** The second moment of start, stop and delete: what it is by now. */
const answered = (state: State, answer: Answer | null, waitedMs: number, waitedFor: ReadonlyArray<string>): Next => {
  if (answer === null) return [state]
  // What its first moment allowed.
  if (answer.is === "refused" && answer.code !== "NOT_FOUND") return [state]
  const isInTime = answer.ms < waitedMs - slackMs
  if (isInTime && !waitedFor.includes(state.status!)) return []
  if (answer.is === "sandbox") return shown(state, answer.sandbox)
  return answer.is === "done" ? [state] : when(state.status === "deleted", state)
}

const settled = ["running", "stopped", "failed", "deleting", "deleted"]

/** stopped: boots. stopping, restoring: boots afterwards. A key boots once. */
const starts = (state: State, key: string | null): Next => {
  const isKnown = key !== null && state.startKeys.includes(key)
  const taken = key === null ? state : { ...state, startKeys: [...state.startKeys, key] }
  if (isKnown) return when(state.status !== "deleted", state)
  switch (state.status) {
    case "pending":
    case "running":
      return [taken]
    case "stopping":
    case "restoring":
      return [{ ...taken, restarts: true, changedAt: null, log: [...state.log, "START"] }]
    case "stopped":
      return [boots(taken)]
    default:
      return []
  }
}

const stops = (state: State): Next => {
  switch (state.status) {
    case "pending":
    case "running":
      return [enter({ ...state, reason: null }, "stopping")]
    case "stopping":
    case "restoring":
      return [{ ...state, restarts: false, changedAt: null, log: [...state.log, "STOP"] }]
    case "stopped":
      return [state]
    default:
      return []
  }
}

/** The first moment of a call that waits. One that is answered with 404 may have been accepted before the Sandbox was deleted. */
const accepted = (state: State, answer: Answer | null, next: Next): Next => {
  if (answer === null || answer.is !== "refused") return next
  const now = refused(state, answer, ["failed", "deleting"])
  return answer.code === "NOT_FOUND" ? [...now, ...next] : now
}

/** What lived in it has heard of its end by then. */
const isPrompt = (answer: Answer | null): boolean =>
  answer !== null && answer.is !== "refused" && answer.ms < dependentsAnswerMs - slackMs

/** A key makes one Sandbox; a create that is repeated answers with what it is by now. */
export const create: Step<"create"> = (state, { name, hasNetwork }, answer) => {
  const isNew = state.status === null
  const next = isNew ? enter({ ...notMade, generation: 1, name, hasNetwork }, "pending") : state
  if (answer === null) return [next]
  if (!isOf(answer, "sandbox"))
    return when(isNew && isOf(answer, "refused") && answer.code === "SANDBOX_LIMIT_REACHED", state)
  return when(answer.http === (next.status === "pending" ? 202 : 201), next).flatMap((one) =>
    shown(one, answer.sandbox)
  )
}

export const get: Step<"get"> = (state, _, answer) => (isOf(answer, "sandbox") ? shown(state, answer.sandbox) : [])

export const list: Step<"list"> = (state, _, answer) => {
  if (!isOf(answer, "sandboxes")) return []
  const [only, ...more] = answer.sandboxes
  return only === undefined ? when(state.status === null, state) : more.length === 0 ? shown(state, only) : []
}

export const patch: Step<"patch"> = (state, { name, label }, answer) => {
  const isOpen = state.status !== null && !["deleting", "deleted"].includes(state.status)
  const said = [...(name === undefined ? [] : [`name=${name}`]), ...(label === undefined ? [] : [`label=${label}`])]
  const next: State = {
    ...state,
    name: name === undefined ? state.name : name,
    label: label ?? state.label,
    log: [...state.log, said.join(" ")]
  }
  if (answer === null) return when(isOpen, next)
  if (!isOf(answer, "sandbox")) return refused(state, answer, ["deleting"])
  return isOpen ? shown(next, answer.sandbox) : []
}

export const start: Step<"start"> = (state, { key }, answer, moment) =>
  moment === 0 ? accepted(state, answer, starts(state, key)) : answered(state, answer, answersWithinMs.start, settled)

export const stop: Step<"stop"> = (state, _, answer, moment) => {
  if (moment === 0) return accepted(state, answer, stops(state))
  const next = answered(state, answer, answersWithinMs.stop, settled)
  return isPrompt(answer) ? next.map((one) => previewsOver(commandsOver(one))) : next
}

/** It wins over everything. */
export const remove: Step<"delete"> = (state, _, answer, moment) => {
  if (moment === 1) return answered(state, answer, answersWithinMs.delete, ["deleted"])
  const isGoing = state.status === "deleting" || state.status === "deleted"
  return state.status === null
    ? []
    : [isGoing ? state : enter({ ...rollbackFailed(state), restarts: false }, "deleting")]
}
