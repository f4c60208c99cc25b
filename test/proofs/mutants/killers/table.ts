/** The first killer: a mutant that decides otherwise than the tables of `test/unit/machines/tables/` say. Quick: most mutants do so in the first steps. */
import type { AnyStateMachine } from "xstate"
import {
  beginnings,
  type Decision,
  type Decisions,
  factOf,
  type Place,
  placeIn,
  standings,
  step,
  walkDecisions
} from "../../../support/machines/decisions.ts"

/** A mutant with so many places more than its machine differs from it. */
const morePlaces = 500

const told = (fact: string): string => {
  const { state, event, condition, target, value, is } = factOf(fact)
  const when = condition === "" ? "" : ` (${condition})`
  return `${state} ${event}${when}${target === null ? "" : ` → ${target}`}${value === null ? "" : `, ${value}`}: ${is}`
}

type Pair = Readonly<Record<"state" | "event", string | null>>

/** So few steps show each fact once. */
const coverOf = ({ decisions }: Decisions): ReadonlyArray<Decision> => {
  const seen = new Set<string>()
  return decisions.filter(({ facts }) => {
    const isNew = facts.some((fact) => !seen.has(fact))
    for (const fact of facts) seen.add(fact)
    return isNew
  })
}

export class TableKiller {
  readonly #decisions: Decisions
  readonly #cover: ReadonlyArray<Decision>
  readonly #standings: ReadonlyArray<string>

  constructor(decisions: Decisions) {
    this.#decisions = decisions
    this.#cover = coverOf(decisions)
    this.#standings = standings(decisions.source.machine)
  }

  /**
   * What the mutant does otherwise; null: its tables are the same.
   *
   * @param near Where it was changed: looked at first.
   */
  kill(mutant: AnyStateMachine, near: Pair): string | null {
    const standing = standings(mutant).find((one, index) => one !== this.#standings[index])
    if (standing !== undefined) return standing
    return this.#atBeginning(mutant) ?? this.#inFirstSteps(mutant, near) ?? this.#inAllSteps(mutant)
  }

  #atBeginning(mutant: AnyStateMachine): string | null {
    const { source, read, beginnings: ours } = this.#decisions
    for (const [index, { facts }] of beginnings(source, mutant, read).entries()) {
      const other = facts.find((fact) => !ours[index]!.includes(fact))
      if (other !== undefined || facts.length !== ours[index]!.length) return told(other ?? ours[index]![0]!)
    }
    return null
  }

  /** The beginnings are the same. */
  #inFirstSteps(mutant: AnyStateMachine, near: Pair): string | null {
    const isNear = ({ place, event }: Decision) =>
      place.snapshot.value === near.state && (near.event === null || near.event === event.type)
    for (const wanted of [true, false]) {
      for (const decision of this.#cover) {
        if (isNear(decision) !== wanted) continue
        const { place, event, condition } = decision
        const { facts } = step(mutant, placeIn(mutant, place), event, condition, this.#decisions.read)
        const found = facts.find((fact) => !this.#decisions.facts.has(fact))
        if (found !== undefined && this.#leadsTo(mutant, place)) return told(found)
      }
    }
    return null
  }

  /** The mutant takes the same way to a place. */
  #leadsTo(mutant: AnyStateMachine, place: Place): boolean {
    let to = place
    for (let at = place.from; at !== null; at = at.place.from) {
      const found = step(mutant, placeIn(mutant, at.place), at.event, at.condition, this.#decisions.read).to
      if (found.key !== to.key) return false
      to = at.place
    }
    return true
  }

  #inAllSteps(mutant: AnyStateMachine): string | null {
    const { source, read, places, facts: ours } = this.#decisions
    const { facts: theirs, isEndless } = walkDecisions(source, mutant, read, places.size + morePlaces)
    if (isEndless) return "it has more states"
    const more = [...theirs].find((fact) => !ours.has(fact))
    if (more !== undefined) return told(more)
    const less = [...ours].find((fact) => !theirs.has(fact))
    return less === undefined ? null : `never ${told(less)}`
  }
}
