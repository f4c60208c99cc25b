/** Sets of states are defined once, by the machine's tags. SQL and views take them from here. */
import type { AnyStateMachine } from "xstate"

/** Whether a state (null: there is no actor) has the tag. */
export const isTagged = (machine: AnyStateMachine, tag: string): ((state: string | null) => boolean) => {
  const states: ReadonlySet<string | null> = new Set(taggedStates(machine, tag))
  return (state) => states.has(state)
}

/** For an `in` of a statement whose text has to be the same each time. */
export const quotedStates = (states: ReadonlyArray<string>): string => states.map((state) => `'${state}'`).join(", ")

/** Throws for a tag that no state has: a set that is empty was misspelt. */
export const taggedStates = (machine: AnyStateMachine, tag: string): ReadonlyArray<string> => {
  const states = Object.values(machine.states)
    .filter(({ tags }) => tags.includes(tag))
    .map(({ key }) => key)
  if (states.length === 0) throw new Error(`No state of the machine ${machine.id} is tagged ${tag}.`)
  return states
}
