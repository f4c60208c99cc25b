/** Invariants of every state that a machine can reach, and of each of its steps: those that races and explorations share. */
import { assert, describe, it } from "vitest"
import { everyChange } from "../../invariants/changes.ts"
import { type ActorFact, changesBetween } from "../../invariants/Moment.ts"
import { everyMoment } from "../../invariants/moments.ts"
import { machineSources } from "../../support/machines/MachineSource.ts"
import { walk } from "../../support/machines/walk.ts"

/** The first few are enough. */
const toldMax = 3

describe.each(machineSources.map((source) => [source.name, source] as const))("%s", (_, source) => {
  const { machine } = source
  const reached = walk(source)
  const factOf = (key: string): ActorFact => {
    const { value, context } = JSON.parse(key) as { readonly value: string; readonly context: unknown }
    return {
      id: machine.id,
      kind: machine.id,
      state: value,
      tags: new Set(machine.states[value]!.tags),
      context,
      commands: []
    }
  }
  const facts = new Map([...reached.keys()].map((key) => [key, factOf(key)]))

  it.each(everyMoment.map((invariant) => [invariant.sentence, invariant] as const))("%s", (_, { broken }) => {
    const faults = [...facts.values()].flatMap((fact) => broken({ actors: [fact] }) ?? [])
    assert.deepStrictEqual(faults.slice(0, toldMax), [])
  })

  it.each(everyChange.map((invariant) => [invariant.sentence, invariant] as const))("%s", (_, invariant) => {
    const faults = [...reached.values()].flatMap(({ key, steps }) =>
      steps.flatMap(({ to }) => {
        const after = facts.get(to) ?? factOf(to)
        return changesBetween({ actors: [facts.get(key)!] }, { actors: [after] }, invariant) ?? []
      })
    )
    assert.deepStrictEqual(faults.slice(0, toldMax), [])
  })
})
