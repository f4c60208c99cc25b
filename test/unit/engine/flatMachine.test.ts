import { assert, describe, it } from "vitest"
import { type AnyMachineSnapshot, type AnyStateMachine, assign, setup } from "xstate"
import { FlatMachine } from "../../../src/engine/history/FlatMachine.ts"
import { foldByXState, type MachineFold } from "../../../src/engine/history/MachineFold.ts"
import { begin, decide, restore, store } from "../../../src/engine/Transition.ts"
import { type MachineSource, machineSources } from "../../support/machines/MachineSource.ts"
import { eventsIn, inputsOf } from "../../support/machines/walk.ts"

const statesMax = 150

const told = ({ value, context, commands }: MachineFold) => ({ value, context, commands })

const flatOf = ({ machine }: Pick<MachineSource, "machine">): FlatMachine => {
  const flat = FlatMachine.of(machine)
  assert.isNotNull(flat)
  return flat
}

describe.each(machineSources)("the $name machine", (source) => {
  const { machine } = source

  it("begins as XState does", () => {
    const flat = flatOf(source)
    for (const input of inputsOf(source))
      assert.deepStrictEqual(told(flat.begin(input)), told(foldByXState(machine, input)))
  })

  it("decides as XState does about all events of the first states", () => {
    const flat = flatOf(source)
    const seen = new Set<string>()
    const reached = (snapshot: AnyMachineSnapshot) => {
      if (seen.size < statesMax) seen.add(JSON.stringify(store(snapshot)))
    }
    for (const input of inputsOf(source)) reached(begin(machine, input).snapshot)
    let accepted = 0
    for (const key of seen) {
      for (const event of eventsIn(source, restore(machine, JSON.parse(key)))) {
        const expected = decide(machine, restore(machine, JSON.parse(key)), event, 2, {})
        const fold = flat.resume(JSON.parse(key))
        const declined = fold.apply(event, 2)
        if (expected.type !== "accepted") {
          assert.deepStrictEqual(declined, expected)
          continue
        }
        accepted++
        assert.isNull(declined)
        assert.deepStrictEqual(told(fold), { ...store(expected.snapshot), commands: expected.commands })
        reached(expected.snapshot)
      }
    }
    assert.isAbove(accepted, 10)
  })
})

const lamp = setup({
  types: {
    context: {} as { count: number; seen: ReadonlyArray<number> },
    events: {} as { type: "PRESS" | "AGAIN" | "STAY" | "IDLE" }
  },
  actions: {
    count: assign({ count: ({ context }) => context.count + 1 }),
    note: assign({ seen: ({ context }) => [...context.seen, context.count] }),
    shine: () => {}
  },
  guards: { isEven: ({ context }) => context.count % 2 === 0 }
})

/** Its states may be of any kind. */
const lampOf = (config: object): AnyStateMachine => lamp.createMachine(config as never) as never

describe("a machine", () => {
  const context = { count: 0, seen: [] }

  it("has its actions in XState's order: leave, transition, enter, each with what the ones before it assigned", () => {
    const machine = lampOf({
      id: "lamp",
      context,
      initial: "off",
      states: {
        off: { exit: ["count", "note"], on: { PRESS: { target: "on", actions: ["count", "note"] } } },
        on: {
          entry: [
            "count",
            "note",
            {
              type: "shine",
              params: ({ context }: { context: { seen: ReadonlyArray<number> } }) => ({ after: context.seen.length })
            }
          ],
          on: {
            PRESS: [{ guard: "isEven", target: "off" }, { actions: "count" }],
            AGAIN: { target: "on", reenter: true },
            STAY: { target: "on", actions: "note" },
            IDLE: {}
          }
        }
      }
    })
    const flat = flatOf({ machine }).begin(undefined)
    const whole = foldByXState(machine, undefined)
    const types = ["PRESS", "STAY", "IDLE", "PRESS", "AGAIN", "STAY", "PRESS", "AGAIN", "IDLE", "PRESS"]
    for (const [index, type] of types.entries()) {
      assert.deepStrictEqual(flat.apply({ type, at: 1 }, index + 2), whole.apply({ type, at: 1 }, index + 2))
      assert.deepStrictEqual(told(flat), told(whole))
    }
    assert.deepStrictEqual((flat.context as { seen: ReadonlyArray<number> }).seen.slice(0, 3), [1, 2, 3])
  })

  it("is not flat where XState does more: nested states, timers, transitions without an event, wildcards, actions without a name", () => {
    const off = { on: { PRESS: "on" } }
    const others = [
      { off, on: { initial: "low", states: { low: {} } } },
      { off, on: { always: "off" } },
      { off, on: { after: { 5: "off" } } },
      { off, on: { on: { "*": "off" } } },
      { off, on: { on: { PRESS: { actions: () => {} } } } },
      { off, on: { type: "final", exit: "shine" } },
      { off, on: { on: { PRESS: { guard: () => true, target: "off" } } } }
    ]
    for (const states of others) {
      const machine = lampOf({ context, initial: "off", states })
      assert.isNull(FlatMachine.of(machine), JSON.stringify(states))
    }
    const plain = { context, initial: "off", states: { off, on: {} } }
    const shinesAlways = { ...plain, on: { AGAIN: { actions: "shine" } } }
    assert.isNotNull(FlatMachine.of(lampOf(plain)))
    assert.isNull(FlatMachine.of(lampOf(shinesAlways)))
  })
})
