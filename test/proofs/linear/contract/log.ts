/** The log: what was committed, in that order. A stream of events tells the log from where it began, in order, each entry once. */
import { isOf } from "../calls.ts"
import { type Step, when } from "./State.ts"

export const log: Step<"log"> = (state, _, answer) =>
  when(isOf(answer, "log") && `${answer.entries}` === `${state.log}`, state)

/** It misses nothing that is committed from now on. It may also tell what was committed a moment before: the feed is behind by a moment. */
export const listen: Step<"listen"> = (state, _, answer) =>
  when(isOf(answer, "listens") && (answer.after === null || answer.after <= state.log.length), state)

/** It goes on with the entry that follows those that it has told, and has told nothing that was not committed by then. */
export const told: Step<"told"> = (state, { after, toEnd }, answer) => {
  if (!isOf(answer, "log")) return []
  const to = after + answer.entries.length
  return when(`${state.log.slice(after, to)}` === `${answer.entries}` && (!toEnd || to === state.log.length), state)
}
