/** The third killer: a mutant that breaks an invariant of moments or changes in its own walk, leaves a state out, or does not know an event. */
import type { AnyStateMachine } from "xstate"
import { everyChange } from "../../../invariants/changes.ts"
import type { ActorFact } from "../../../invariants/Moment.ts"
import { everyMoment } from "../../../invariants/moments.ts"
import { type Decisions, type Place, walkDecisions } from "../../../support/machines/decisions.ts"

/** A walk that goes on for longer than this shows no more. */
const timesMax = 3

const factOf = (machine: AnyStateMachine, { stored }: Place): ActorFact => ({
  id: machine.id,
  kind: machine.id,
  state: stored.value,
  tags: new Set(machine.states[stored.value]!.tags),
  context: stored.context,
  commands: []
})

const brokenOf = (mutant: AnyStateMachine, { places, decisions }: Decisions): string | null => {
  const facts = new Map([...places].map(([key, place]) => [key, factOf(mutant, place)]))
  for (const { sentence, broken } of everyMoment) {
    if ([...facts.values()].some((fact) => broken({ actors: [fact] }) !== null)) return sentence
  }
  for (const { sentence, broken } of everyChange) {
    const isBroken = decisions.some(({ place, to }) => {
      const after = facts.get(to)
      return after !== undefined && broken(facts.get(place.key)!, after) !== null
    })
    if (isBroken) return sentence
  }
  return null
}

export const killByWalk = ({ source, read, places }: Decisions, mutant: AnyStateMachine): string | null => {
  const walked = walkDecisions(source, mutant, read, places.size * timesMax)
  const reached = new Set([...walked.places.values()].map(({ stored }) => stored.value))
  const missing = Object.keys(mutant.states).find((state) => !reached.has(state))
  if (missing !== undefined) return `it never reaches ${missing}`
  const unknown = [...walked.facts].find((fact) => fact.endsWith("refused UNEXPECTED_EVENT"))
  return unknown === undefined ? brokenOf(mutant, walked) : "it does not know an event"
}
