/** Files under /workspace: each call is one moment of a Sandbox that runs. */
import { type Answer, type DoesOf, isOf } from "../calls.ts"
import { refused, withoutRuntime } from "./refusals.ts"
import { type Next, type State, type Step, when } from "./State.ts"

const withFile = (state: State, path: string, text: string): State => ({
  ...state,
  files: { ...state.files, [path]: text }
})

const withoutFile = (state: State, path: string): State => {
  const { [path]: _, ...files } = state.files
  return { ...state, files }
}

const textOf = ({ files }: State, path: string): string | null => files[path] ?? null

/** Files are reached while the Sandbox runs. */
const filesRefused = (state: State, answer: Answer, isMissing: boolean): Next => {
  if (answer.is !== "refused") return []
  if (answer.code === "RUNTIME_UNAVAILABLE") return when(withoutRuntime(answer).includes(state.status!), state)
  return when(
    answer.code === "NOT_FOUND" && (state.status === "deleted" || (state.status === "running" && isMissing)),
    state
  )
}

export const write: Step<"write"> = (state, { path, text }, answer) =>
  answer === null || answer.is === "done"
    ? when(state.status === "running", withFile(state, path, text))
    : filesRefused(state, answer, false)

/** Of two edits of one text one is refused, with the text that the other has left. */
export const edit: Step<"edit"> = (state, { path, expected, text }, answer) => {
  const present = state.files[path]
  const isAsExpected = state.status === "running" && present === expected
  if (answer === null || answer.is === "done") return when(isAsExpected, withFile(state, path, text))
  if (answer.is !== "refused" || answer.code !== "PRECONDITION_FAILED") {
    return filesRefused(state, answer, present === undefined)
  }
  return when(state.status === "running" && present !== expected && present === answer.actual, state)
}

export const read: Step<"read"> = (state, { path }, answer) => {
  if (answer === null) return [state]
  const isMissing = textOf(state, path) === null
  if (!isOf(answer, "text")) return filesRefused(state, answer, isMissing)
  return when(state.status === "running" && !isMissing && textOf(state, path) === answer.text, state)
}

/** An archive has each file as it was at one moment between its request and its end; each file has its own moment. */
export const archived = (state: State, { path }: DoesOf<"archived">, answer: Answer | null): Next => {
  if (answer === null) return [state]
  if (!isOf(answer, "text")) return filesRefused(state, answer, false)
  return when(state.status === "running" && textOf(state, path) === answer.text, state)
}

export const removeFile: Step<"remove"> = (state, { path }, answer) => {
  const isMissing = textOf(state, path) === null
  if (answer !== null && answer.is !== "done") return filesRefused(state, answer, isMissing)
  return when(state.status === "running" && !isMissing, withoutFile(state, path))
}

/** A program sees the files that the API sees. Its answer has all of its output, and its own exit code. */
export const execute: Step<"execute"> = (state, { path, exits }, answer) => {
  if (answer === null) return [state]
  if (!isOf(answer, "ran")) return refused(state, answer, withoutRuntime(answer))
  return when(state.status === "running" && answer.exitCode === exits && textOf(state, path) === answer.text, state)
}
