/** Sets of states are defined once, by the machine's tags. SQL and views take them from here. */
import type { AnyStateMachine } from "xstate"

/** Throws for a tag that no state has: a set that is empty was misspelt. */
export const taggedStates = (machine: AnyStateMachine, tag: string): ReadonlyArray<string> => {
  const states = Object.values(machine.states)
    .filter(({ tags }) => tags.includes(tag))
    .map(({ key }) => key)
  if (states.length === 0) throw new Error(`No state of the machine ${machine.id} is tagged ${tag}.`)
  return states
}
