/** Which deadlines wait at each moment of a life, as the browser folds it. */
import { assert, it } from "@effect/vitest"
import { samples } from "../../../../src/console/pages/machine/samples.ts"
import { sandboxKind } from "../../../../src/console/pages/machine/sandboxKind.ts"
import {
  type AnyEvent,
  begin,
  type Deadlines,
  deadlinesAfter,
  decide
} from "../../../../src/console/pages/machine/simulate.ts"

const { machine } = sandboxKind

/** One with no lifetime and no checkpoints, whose deadlines are its own: boot and idleness. */
const input = (at: number) => ({ ...(samples.sandbox.input(at) as object), lifetime: null, checkpoints: null })

it("one that is asked for waits, in place of another of its name, until it is called off or comes", () => {
  const first = begin(machine, input(1000))
  let { snapshot } = first
  let deadlines: Deadlines = deadlinesAfter({}, first.commands, null)
  assert.deepStrictEqual(deadlines, { boot: { at: 61_000, event: { type: "BOOT_TIMEOUT", generation: 1 } } })
  const step = (event: AnyEvent, isDeadline = false) => {
    const verdict = decide(machine, snapshot, event)
    if (verdict.type !== "accepted") throw new Error(event.type)
    snapshot = verdict.snapshot
    deadlines = deadlinesAfter(deadlines, verdict.commands, isDeadline ? event.type : null)
    return Object.entries(deadlines).map(([name, { at }]) => [name, at])
  }
  assert.deepStrictEqual(step({ type: "RUNTIME_UP", generation: 1, at: 2000 }), [])
  assert.deepStrictEqual(step({ type: "IN_USE", until: 5000, at: 3000 }), [["idle", 5000]])
  assert.deepStrictEqual(step({ type: "IN_USE", until: 7000, at: 4000 }), [["idle", 7000]])
  assert.deepStrictEqual(step({ type: "IDLE_DUE", at: 7000 }, true), [])
  assert.deepStrictEqual(step({ type: "IN_USE", until: 9000, at: 7001 }), [["idle", 9000]])
  assert.deepStrictEqual(step({ type: "STOP", at: 8000 }), [])
})

it("one that is asked for without an instant is called off", () => {
  const waiting = { low: { at: 5, event: { type: "DUE" } } }
  const asked = (at: number | null) => [{ type: "schedule", params: { name: "low", at, event: { type: "DUE" } } }]
  assert.deepStrictEqual(deadlinesAfter(waiting, asked(null), null), {})
  assert.deepStrictEqual(deadlinesAfter({}, asked(5), null), waiting)
})
