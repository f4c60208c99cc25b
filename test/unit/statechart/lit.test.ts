import { readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { edgeRole, type Lit, litOf } from "../../../src/statechart/lit.ts"
import type { Statechart } from "../../../src/statechart/Statechart.ts"

const chartOf = (kind: string): Statechart =>
  JSON.parse(readFileSync(join(import.meta.dirname, `../../../docs/machines/${kind}.json`), "utf8"))

/** Ids of the edges of a drawing that have a role. */
const edgesOf = (chart: Statechart, lit: Lit, role: "taken" | "next") =>
  chart.drawing.edges.filter((edge) => edgeRole(lit, edge) === role).map(({ id }) => id)

describe("the highlighted part of a drawing", () => {
  it("is the state, the edge that led to it, and the possible next events", () => {
    const lit = litOf(chartOf("sandbox"), {
      state: "running",
      last: { from: "pending", event: "RUNTIME_UP", to: "running" },
      nextEvents: ["STOP", "IDLE_DUE"]
    })
    assert.strictEqual(lit.current, "running")
    assert.strictEqual(lit.previous, "pending")
    assert.isFalse(lit.isBeginning)
    assert.deepStrictEqual(edgesOf(chartOf("sandbox"), lit, "taken"), ["pending>running"])
    assert.deepStrictEqual([...lit.lastTransitions], ["pending.RUNTIME_UP.0"])
    assert.deepStrictEqual(edgesOf(chartOf("sandbox"), lit, "next"), ["running>stopping"])
    assert.deepStrictEqual([...lit.nextTransitions], ["running.STOP.0", "running.IDLE_DUE.0"])
    assert.deepStrictEqual([...lit.nextStates], ["stopping"])
  })

  it("is the arrow from the dot at the beginning", () => {
    const lit = litOf(chartOf("operation"), {
      state: "queued",
      last: { from: null, event: "CREATED", to: "queued" },
      nextEvents: []
    })
    assert.isTrue(lit.isBeginning)
    assert.strictEqual(lit.previous, null)
    assert.strictEqual(lit.lastTransitions.size, 0)
  })

  it("is a line within the state, and no edge, where the state was not left", () => {
    const lit = litOf(chartOf("sandbox"), {
      state: "stopping",
      last: { from: "stopping", event: "STOP", to: "stopping" },
      nextEvents: []
    })
    assert.strictEqual(lit.previous, null)
    assert.deepStrictEqual(edgesOf(chartOf("sandbox"), lit, "taken"), [])
    assert.deepStrictEqual([...lit.lastTransitions], ["stopping.STOP.0", "stopping.STOP.1"])
  })

  it("is the one edge that stands for every state, whichever it came from", () => {
    for (const from of ["opening", "funded", "low"]) {
      const lit = litOf(chartOf("wallet"), {
        state: "low",
        last: { from, event: "RECKONED", to: "low" },
        nextEvents: []
      })
      assert.deepStrictEqual(edgesOf(chartOf("wallet"), lit, "taken"), ["*>low"])
    }
  })

  it("is the branch that the guards chose, found by its target", () => {
    const chart = chartOf("sandbox")
    const refused = (from: string, to: string) =>
      edgesOf(chart, litOf(chart, { state: to, last: { from, event: "RUNTIME_REFUSED", to }, nextEvents: [] }), "taken")
    assert.deepStrictEqual(refused("pending", "expired"), ["pending>expired"])
    assert.deepStrictEqual(refused("pending", "stopping"), ["pending>stopping"])
  })
})
