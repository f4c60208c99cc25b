import { assert, describe, it } from "vitest"
import { type AnyMachineSnapshot, type AnyStateMachine, assign } from "xstate"
import { quickAssign } from "../../../src/engine/quickAssign.ts"
import { begin, decide, restore, store } from "../../../src/engine/Transition.ts"
import { type MachineSource, machineSources } from "../../support/machines/MachineSource.ts"
import { eventsIn, inputsOf } from "../../support/machines/walk.ts"

const statesMax = 150

const assignmentsOf = (machine: AnyStateMachine) =>
  Object.values(machine.implementations.actions).filter(
    (action) => (action as { readonly type?: string } | undefined)?.type === "xstate.assign"
  ) as unknown as ReadonlyArray<{ resolve: unknown }>

/** XState's step of every `assign`. */
const { resolve: own } = assign({}) as unknown as { readonly resolve: unknown }

/** Everything that the first states, breadth first, decide about all events. */
const decisions = (source: MachineSource): ReadonlyArray<string> => {
  const { machine } = source
  const told: Array<string> = []
  const seen = new Set<string>()
  const reached = (snapshot: AnyMachineSnapshot) => {
    const key = JSON.stringify(store(snapshot))
    if (seen.size < statesMax) seen.add(key)
  }
  for (const input of inputsOf(source)) reached(begin(machine, input).snapshot)
  for (const key of seen) {
    for (const event of eventsIn(source, restore(machine, JSON.parse(key)))) {
      const verdict = decide(machine, restore(machine, JSON.parse(key)), event, 2, {})
      if (verdict.type !== "accepted") continue
      const { status, value, context, tags, output } = verdict.snapshot
      told.push(JSON.stringify([event, status, value, context, [...tags], output, verdict.commands, verdict.deadlines]))
      reached(verdict.snapshot)
    }
  }
  return told
}

describe.each(machineSources.filter(({ machine }) => assignmentsOf(machine).length > 0))(
  "the $name machine",
  (source) => {
    it("decides the same as with XState's own assignments", () => {
      const assignments = assignmentsOf(source.machine)
      quickAssign(source.machine)
      for (const { resolve } of assignments) assert.notStrictEqual(resolve, own)
      const quick = decisions(source)
      for (const action of assignments) action.resolve = own
      const slow = decisions(source)
      quickAssign(source.machine)
      assert.isNotEmpty(quick)
      assert.deepStrictEqual(quick, slow)
    })
  }
)
