/** Commands: a key begins one, it goes forward by itself to one terminal result, and its output only grows. */
import { type Answer, type Command, type CommandSeen, commandOf, type DoesOf, isOf, outputOf } from "../calls.ts"
import { refused, withoutRuntime } from "./refusals.ts"
import { type CommandState, type Next, type State, type Step, when } from "./State.ts"

const rankOf = (seen: string): number => ["queued", "running", "over"].indexOf(seen.split(" ")[0]!)
const isTerminal = (status: string): boolean => rankOf(status) === -1
const isCompleted = ({ seen }: CommandState): boolean => seen.startsWith("completed")

const isGenerationOver = ({ status, generation }: State, command: CommandState): boolean =>
  generation > command.generation || !["pending", "running"].includes(status!)

/** Why a command has failed: its Sandbox's runtime ended. */
const isLostSo = (state: State, known: CommandState, reason: string | null): boolean => {
  switch (reason) {
    case "SANDBOX_STOPPED":
    case "SANDBOX_LOST":
      return isGenerationOver(state, known)
    case "SANDBOX_ROLLED_BACK":
      return state.rollback !== null && isGenerationOver(state, known)
    case "SANDBOX_RESTARTED":
      return state.generation > known.generation
    case "SANDBOX_DELETED":
      return state.status === "deleting" || state.status === "deleted"
    default:
      return false
  }
}

/**
 * The command goes forward by itself: queued, running, and then one terminal result that never changes. It completes only if it ends by itself, with
 * its own exit code; it fails only because its Sandbox's runtime ended; and nothing but a cancel cancels it.
 */
const goesTo = (state: State, command: Command, seen: CommandSeen): boolean => {
  const known = state.commands[command.by]
  if (known === undefined || seen.by !== command.by || (known.fixed !== null && known.fixed !== seen.fixed))
    return false
  if (known.seen === "cancelled") return seen.status === "cancelled"
  if (isTerminal(known.seen)) return known.seen === seen.result
  switch (seen.status) {
    case "completed": {
      const all = outputOf(command).length
      return command.ends !== null && seen.exitCode === command.ends && (!known.isWritten || known.written === all)
    }
    case "failed":
      return isLostSo(state, known, seen.reason)
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

const noted = (state: State, { by, fixed, status, result }: CommandSeen): State =>
  withCommand(state, by, { fixed, seen: isTerminal(status) ? result : status })

const sees = (state: State, command: Command, seen: CommandSeen): Next =>
  when(goesTo(state, command, seen), noted(state, seen))

/** Those of a runtime that has ended are over. */
export const commandsOver = (state: State): State => {
  const open = Object.entries(state.commands).filter(
    ([, command]) => !isTerminal(command.seen) && isGenerationOver(state, command)
  )
  return open.reduce((next, [by]) => withCommand(next, by, { seen: "over" }), state)
}

/** A command is accepted once for each key, while the Sandbox runs. */
export const begin: Step<"begin"> = (state, { command }, answer) => {
  const isNew = state.commands[command.by] === undefined
  const { generation } = state
  const made: CommandState = { fixed: null, generation, seen: "queued", written: 0, isWritten: false }
  const next: State = { ...state, commands: { ...state.commands, [command.by]: made } }
  if (answer === null) return when(state.status === "running", isNew ? next : state)
  if (answer.is !== "command") return refused(state, answer, withoutRuntime(answer))
  if (!isNew) return sees(state, command, answer.command)
  return state.status === "running" && answer.command.status === "queued" ? sees(next, command, answer.command) : []
}

export const look = (state: State, { command }: DoesOf<"look"> | DoesOf<"wait">, answer: Answer | null): Next =>
  isOf(answer, "command") ? sees(state, command, answer.command) : []

/** A cancel is final with its answer; what has ended before stays so. */
export const cancel: Step<"cancel"> = (state, { command }, answer) => {
  const known = state.commands[command.by]
  if (known === undefined) return []
  const cancelled = withCommand(state, command.by, { seen: "cancelled" })
  const isOpen = rankOf(known.seen) === 0 || rankOf(known.seen) === 1
  if (answer === null) return isOpen ? [cancelled, state] : [state]
  if (answer.is !== "command" || !isTerminal(answer.command.status)) return []
  const isNow = answer.command.status === "cancelled" && isOpen
  return sees(isNow ? cancelled : state, command, answer.command)
}

export const commands: Step<"commands"> = (state, _, answer) => {
  if (!isOf(answer, "commands") || answer.commands.length !== Object.keys(state.commands).length) return []
  const isAll = answer.commands.every((seen) => goesTo(state, commandOf(seen.by), seen))
  return when(isAll, isAll ? answer.commands.reduce(noted, state) : state)
}

/** It ends by itself, or was ended. */
const mayBeOver = (state: State, command: Command, known: CommandState): boolean =>
  isTerminal(known.seen) || known.seen === "over" || command.ends !== null || isGenerationOver(state, known)

/**
 * What was read is what its program writes there. All that was stored stays, and nothing follows an end. A command that is completed has stored all.
 */
const written = (
  state: State,
  { command, from }: DoesOf<"output"> | DoesOf<"follow">,
  answer: Answer | null,
  isAllOfNow: boolean
): Next => {
  const known = state.commands[command.by]
  if (known === undefined || !isOf(answer, "output")) return []
  const { text, eof } = answer
  const to = from + text.length
  const all = outputOf(command)
  const isSo =
    all.startsWith(text, from) &&
    (!isAllOfNow || to >= known.written) &&
    (!known.isWritten || (isAllOfNow || eof ? to === known.written && eof : to <= known.written)) &&
    (!(isAllOfNow && isCompleted(known)) || (eof && to === all.length)) &&
    (!eof || (mayBeOver(state, command, known) && to >= known.written && (!isCompleted(known) || to === all.length)))
  const seen = eof && !isTerminal(known.seen) ? "over" : known.seen
  return when(
    isSo,
    withCommand(state, command.by, { seen, written: Math.max(known.written, to), isWritten: known.isWritten || eof })
  )
}

/** It reads to the end of what is stored. */
export const output: Step<"output"> = (state, does, answer) => written(state, does, answer, true)
/** It gets what is stored, piece by piece; `eof`: up to its end. */
export const follow: Step<"follow"> = (state, does, answer) => written(state, does, answer, false)
