/**
 * The contract of one Sandbox as a sequential program: for all that concurrent clients of the HTTP API see, some order of their calls, each at
 * one moment between its request and its answer, is a run of this program. Calls that wait (start, stop, delete) have two moments: they are accepted,
 * and later answered with what the Sandbox is by then.
 *
 * `test/system/linear/` checks it against recorded clients of a real service.
 */
import type { Model } from "../../../src/proofs/linear/Model.ts"
import {
  type Answer,
  type AnswerIs,
  type AnswerOf,
  type Command,
  type CommandSeen,
  callText,
  commandOf,
  type Does,
  type DoesOf,
  type DoesType,
  type SandboxSeen
} from "./calls.ts"

interface CommandState {
  /** Null: not known, because no answer has told it. */
  readonly id: string | null
  /** The boot of the Sandbox that runs it. */
  readonly generation: number
  /** What it is at least: `over` is any terminal status. A terminal one with its result. */
  readonly seen: string
}

interface State {
  /** Null: it is not made. */
  readonly status: "pending" | "running" | "stopping" | "stopped" | "failed" | "deleting" | "deleted" | null
  /** Null: not known, because no answer has told it. */
  readonly id: string | null
  readonly generation: number
  /** A start came while it was stopping. */
  readonly restarts: boolean
  readonly name: string | null
  readonly label: string
  /** The statuses that it has had. */
  readonly log: ReadonlyArray<string>
  readonly changes: number
  readonly startKeys: ReadonlyArray<string>
  readonly commands: Readonly<Record<string, CommandState>>
  /** On its volume, which stays while it is stopped. */
  readonly files: Readonly<Record<string, string>>
}

type Next = ReadonlyArray<State>

const blank = { name: null, label: "", log: [], changes: 0, startKeys: [], commands: {}, files: {} }
const notMade: State = { ...blank, status: null, id: null, generation: 0, restarts: false }

/** How long calls wait before they answer with an earlier status. */
const answersWithinMs = { start: 20_000, stop: 20_000, delete: 10_000 }
/** What lives in a Sandbox has ended when the answer to its stop comes, unless that took longer than this. */
const dependentsAnswerMs = 2_000
/** Clocks of client and service begin to count at different moments. */
const slackMs = 500

const when = (holds: boolean, state: State): Next => (holds ? [state] : [])

const enter = (state: State, status: NonNullable<State["status"]>): State => ({
  ...state,
  status,
  log: [...state.log, status]
})

const boots = (state: State): State => enter({ ...state, generation: state.generation + 1, restarts: false }, "pending")

/** What it becomes by itself. */
const silent = (state: State): Next => {
  switch (state.status) {
    case "pending":
      return [enter(state, "running")]
    case "stopping":
      return [state.restarts ? boots(state) : enter({ ...state, restarts: false }, "stopped")]
    case "deleting":
      return [enter(state, "deleted")]
    default:
      return []
  }
}

const shows = ({ status, id, generation, name, label }: State, seen: SandboxSeen): boolean =>
  (id === null || id === seen.id) &&
  status === seen.status &&
  generation === seen.generation &&
  name === seen.name &&
  label === seen.label

/** The Sandbox is there and is what the answer shows. */
const shown = (state: State, seen: SandboxSeen): Next =>
  when(state.status !== null && shows(state, seen), { ...state, id: seen.id })

/** Refusals that say "nothing was done" and nothing about the Sandbox: an outage, a limit on requests, a Sandbox that was not reached. */
const isOutage = ({ code, status }: AnswerOf<"refused">): boolean =>
  code === "SERVICE_UNAVAILABLE" || code === "RATE_LIMITED" || (code === "SANDBOX_UNAVAILABLE" && status === null)

/** Refusals that every call may have: there is no such Sandbox any more, or its status does not allow the call. */
const refused = (state: State, answer: Answer, statuses: ReadonlyArray<string>): Next => {
  if (answer.is !== "refused") return []
  if (answer.code === "NOT_FOUND") return when(state.status === "deleted", state)
  const isOfStatus = answer.code === "SANDBOX_UNAVAILABLE" && answer.status === state.status
  return when(isOfStatus && statuses.includes(answer.status!), state)
}

/* Commands */

const rankOf = (seen: string): number => ["queued", "running", "over"].indexOf(seen.split(" ")[0]!)
const isTerminal = (status: string): boolean => rankOf(status) === -1

const isGenerationOver = ({ status, generation }: State, command: CommandState): boolean =>
  generation > command.generation || !["pending", "running"].includes(status!)

/**
 * The command goes forward by itself: queued, running, and then one terminal result that never changes. It completes only if it ends by itself, with
 * its own exit code; it fails only because its Sandbox's runtime ended; and nothing but a cancel cancels it.
 */
const goesTo = (state: State, command: Command, seen: CommandSeen): boolean => {
  const known = state.commands[command.by]
  if (known === undefined || seen.by !== command.by || (known.id !== null && known.id !== seen.id)) return false
  if (known.seen === "cancelled") return seen.status === "cancelled"
  if (isTerminal(known.seen)) return known.seen === seen.result
  switch (seen.status) {
    case "completed":
      return command.ends !== null && seen.exitCode === command.ends
    case "failed":
      return isGenerationOver(state, known)
    case "cancelled":
      return false
    default:
      return rankOf(seen.status) >= rankOf(known.seen)
  }
}

const withCommand = (state: State, by: string, change: Partial<CommandState>): State => ({
  ...state,
  commands: { ...state.commands, [by]: { ...state.commands[by]!, ...change } }
})

const noted = (state: State, seen: CommandSeen): State =>
  withCommand(state, seen.by, { id: seen.id, seen: isTerminal(seen.status) ? seen.result : seen.status })

const seesCommand = (state: State, command: Command, seen: CommandSeen): Next =>
  when(goesTo(state, command, seen), noted(state, seen))

/** Its commands have ended: those of the runtime that a stop or a delete ended. */
const withCommandsOver = (state: State): State => {
  const open = Object.entries(state.commands).filter(
    ([, command]) => !isTerminal(command.seen) && isGenerationOver(state, command)
  )
  return open.reduce((next, [by]) => withCommand(next, by, { seen: "over" }), state)
}

const looks = (state: State, { command }: DoesOf<"look"> | DoesOf<"wait">, answer: Answer | null): Next =>
  answer?.is === "command" ? seesCommand(state, command, answer.command) : []

/** A cancel is final with its answer; what has ended before stays so. */
const cancels = (state: State, command: Command, answer: Answer | null): Next => {
  const known = state.commands[command.by]
  if (known === undefined) return []
  const cancelled = withCommand(state, command.by, { seen: "cancelled" })
  const isOpen = rankOf(known.seen) === 0 || rankOf(known.seen) === 1
  if (answer === null) return isOpen ? [cancelled, state] : [state]
  if (answer.is !== "command" || !isTerminal(answer.command.status)) return []
  const isNow = answer.command.status === "cancelled" && isOpen
  return seesCommand(isNow ? cancelled : state, command, answer.command)
}

/** A command is accepted once for each key, while the Sandbox runs. */
const begins = (state: State, { command }: DoesOf<"begin">, answer: Answer | null): Next => {
  const isNew = state.commands[command.by] === undefined
  const made: State = {
    ...state,
    commands: { ...state.commands, [command.by]: { id: null, generation: state.generation, seen: "queued" } }
  }
  if (answer === null) return when(state.status === "running", isNew ? made : state)
  if (answer.is !== "command") return refused(state, answer, withoutRuntime(answer))
  if (!isNew) return seesCommand(state, command, answer.command)
  return state.status === "running" && answer.command.status === "queued"
    ? seesCommand(made, command, answer.command)
    : []
}

/** Statuses in which commands and files are refused; one that boots is waited for first. */
const withoutRuntime = ({ ms }: Answer): ReadonlyArray<string> => [
  "stopping",
  "stopped",
  "failed",
  "deleting",
  "deleted",
  ...(ms > answersWithinMs.start - slackMs ? ["pending"] : [])
]

/* Files */

const withFile = (state: State, path: string, text: string): State => ({
  ...state,
  files: { ...state.files, [path]: text }
})

const withoutFile = (state: State, path: string): State => {
  const { [path]: _, ...files } = state.files
  return { ...state, files }
}

/** Files are reached while the Sandbox runs. */
const filesRefused = (state: State, answer: Answer, isMissing: boolean): Next => {
  if (answer.is !== "refused") return []
  if (answer.code === "RUNTIME_UNAVAILABLE") return when(withoutRuntime(answer).includes(state.status!), state)
  return when(
    answer.code === "NOT_FOUND" && (state.status === "deleted" || (state.status === "running" && isMissing)),
    state
  )
}

const edits = (state: State, { path, expected, text }: DoesOf<"edit">, answer: Answer | null): Next => {
  const present = state.files[path]
  const isAsExpected = state.status === "running" && present === expected
  if (answer === null || answer.is === "done") return when(isAsExpected, withFile(state, path, text))
  if (answer.is !== "refused" || answer.code !== "PRECONDITION_FAILED") {
    return filesRefused(state, answer, present === undefined)
  }
  return when(state.status === "running" && present !== expected && present === answer.actual, state)
}

/* The Sandbox itself */

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

/** stopped: boots. stopping: boots afterwards. A key boots once. */
const starts = (state: State, key: string | null): Next => {
  const isKnown = key !== null && state.startKeys.includes(key)
  const taken = key === null ? state : { ...state, startKeys: [...state.startKeys, key] }
  if (isKnown) return when(state.status !== "deleted", state)
  switch (state.status) {
    case "pending":
    case "running":
      return [taken]
    case "stopping":
      return [{ ...taken, restarts: true }]
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
      return [enter(state, "stopping")]
    case "stopping":
      return [{ ...state, restarts: false }]
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

type Step<T extends DoesType> = (state: State, does: DoesOf<T>, answer: Answer | null, moment: number) => Next

const isOf = <I extends AnswerIs>(answer: Answer | null, is: I): answer is AnswerOf<I> => answer?.is === is

/** Each call: the states after it, if it is answered so. An answer of null is one that the client lost. */
const steps: { readonly [T in DoesType]: Step<T> } = {
  create: (state, { name }, answer) => {
    const isNew = state.status === null
    const next = isNew ? enter({ ...notMade, generation: 1, name }, "pending") : state
    if (answer === null) return [next]
    if (!isOf(answer, "sandbox"))
      return when(isNew && isOf(answer, "refused") && answer.code === "SANDBOX_LIMIT_REACHED", state)
    return when(answer.http === (next.status === "pending" ? 202 : 201), next).flatMap((one) =>
      shown(one, answer.sandbox)
    )
  },
  get: (state, _, answer) => (isOf(answer, "sandbox") ? shown(state, answer.sandbox) : []),
  list: (state, _, answer) => {
    if (!isOf(answer, "sandboxes")) return []
    const [only, ...more] = answer.sandboxes
    return only === undefined ? when(state.status === null, state) : more.length === 0 ? shown(state, only) : []
  },
  log: (state, _, answer) =>
    when(isOf(answer, "log") && `${answer.statuses}` === `${state.log}` && answer.changes === state.changes, state),
  patch: (state, { name, label }, answer) => {
    const isOpen = state.status !== null && !["deleting", "deleted"].includes(state.status)
    const next: State = {
      ...state,
      name: name === undefined ? state.name : name,
      label: label ?? state.label,
      changes: state.changes + 1
    }
    if (answer === null) return when(isOpen, next)
    if (!isOf(answer, "sandbox")) return refused(state, answer, ["deleting"])
    return isOpen ? shown(next, answer.sandbox) : []
  },
  start: (state, { key }, answer, moment) =>
    moment === 0
      ? accepted(state, answer, starts(state, key))
      : answered(state, answer, answersWithinMs.start, settled),
  stop: (state, _, answer, moment) => {
    if (moment === 0) return accepted(state, answer, stops(state))
    const next = answered(state, answer, answersWithinMs.stop, settled)
    return isPrompt(answer) ? next.map(withCommandsOver) : next
  },
  delete: (state, _, answer, moment) => {
    if (moment === 0) {
      const isGoing = state.status === "deleting" || state.status === "deleted"
      return state.status === null ? [] : [isGoing ? state : enter({ ...state, restarts: false }, "deleting")]
    }
    return answered(state, answer, answersWithinMs.delete, ["deleted"])
  },
  begin: begins,
  look: looks,
  wait: looks,
  cancel: (state, { command }, answer) => cancels(state, command, answer),
  commands: (state, _, answer) => {
    if (!isOf(answer, "commands") || answer.commands.length !== Object.keys(state.commands).length) return []
    const isAll = answer.commands.every((seen) => goesTo(state, commandOf(seen.by), seen))
    return when(isAll, isAll ? answer.commands.reduce(noted, state) : state)
  },
  write: (state, { path, text }, answer) =>
    answer === null || answer.is === "done"
      ? when(state.status === "running", withFile(state, path, text))
      : filesRefused(state, answer, false),
  edit: edits,
  read: (state, { path }, answer) =>
    isOf(answer, "text")
      ? when(state.status === "running" && state.files[path] === answer.text, state)
      : answer === null
        ? [state]
        : filesRefused(state, answer, state.files[path] === undefined),
  remove: (state, { path }, answer) => {
    const isMissing = state.files[path] === undefined
    if (answer !== null && answer.is !== "done") return filesRefused(state, answer, isMissing)
    return when(state.status === "running" && !isMissing, withoutFile(state, path))
  }
}

const inOrder = (entries: object) => Object.entries(entries).sort(([one], [other]) => (one < other ? -1 : 1))

const reads: ReadonlyArray<DoesType> = ["get", "list", "log", "look", "wait", "commands", "read"]
const waits: ReadonlyArray<DoesType> = ["start", "stop", "delete"]

export const contract: Model<State, Does, Answer> = {
  first: [notMade],
  step: (state, does, answer, moment) =>
    answer !== null && answer.is === "refused" && isOutage(answer)
      ? [state]
      : (steps[does.type] as Step<DoesType>)(state, does as never, answer, moment),
  silent,
  moments: ({ type }) => (waits.includes(type) ? 2 : 1),
  isRead: ({ type }, answer, moment) =>
    reads.includes(type) ||
    moment === 1 ||
    (answer?.is === "refused" && (answer.code !== "NOT_FOUND" || !waits.includes(type))),
  keyOf: ({ startKeys, commands, files, ...rest }) =>
    JSON.stringify([rest, startKeys.toSorted(), inOrder(commands), inOrder(files)]),
  callText,
  stateText: ({ status, generation, name, label, changes, commands, files, restarts }) =>
    [
      `${status ?? "not made"} #${generation}${restarts ? ", boots again" : ""} name=${name} label=${label} ${changes} changes`,
      `commands {${Object.entries(commands).map(([by, { seen }]) => `${by}: ${seen}`)}}`,
      `files {${Object.entries(files).map(([path, text]) => `${path}: ${text}`)}}`
    ].join(", ")
}
