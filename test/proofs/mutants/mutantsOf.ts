/** All mutants of a machine. */
import { type Decisions, decisionsOf, factOf } from "../../support/machines/decisions.ts"
import type { MachineSource } from "../../support/machines/MachineSource.ts"
import type { Mutant } from "./Mutant.ts"
import type { ParamsOfCommands } from "./ofActions.ts"
import { mutantsOfImplementations } from "./ofImplementations.ts"
import { mutantsOfSource } from "./ofSource.ts"
import { mutantsOfStates } from "./ofStates.ts"
import { mutantsOfTransitions } from "./ofTransitions.ts"

export interface Subject {
  readonly source: MachineSource
  /** What the machine itself decides. */
  readonly decisions: Decisions
  readonly mutants: ReadonlyArray<Mutant>
}

/** `1. provision: generation`, as decisions name the value of a command. */
const paramName = /^\d+\. (\w+): (\w+)$/

const paramsOf = (decisions: Decisions): ParamsOfCommands => {
  const found = new Map<string, Set<string>>()
  const add = (type: string, field: string) => found.set(type, (found.get(type) ?? new Set()).add(field))
  for (const { value } of [...decisions.facts].map(factOf)) {
    const [, type, field] = paramName.exec(value ?? "") ?? []
    if (type !== undefined && field !== undefined) add(type, field)
  }
  return found
}

export const subjectOf = (source: MachineSource): Subject => {
  const decisions = decisionsOf(source)
  const params = paramsOf(decisions)
  const { machine } = source
  return {
    source,
    decisions,
    mutants: [
      ...mutantsOfTransitions(machine, params),
      ...mutantsOfStates(machine, params),
      ...mutantsOfImplementations(machine, decisions.written),
      ...mutantsOfSource(source.name)
    ]
  }
}
