/** The explorer, over a product whose states can be counted by hand. */
import { assert, describe, it } from "vitest"
import { explore } from "../../../../src/proofs/explore/explore.ts"
import { pathDiagram, pathEvents, pathTable } from "../../../../src/proofs/explore/pathReport.ts"
import { lockProduct } from "./lockProduct.ts"

describe("an exploration", () => {
  it("sees each state of a product once", async () => {
    // One client: idle, asking, holding, leaving; the lock is taken in the last two.
    const explored = await explore(lockProduct(true, ["a"]), {})
    assert.deepInclude(explored, { states: 4, edges: 4, end: "exhausted", violations: [] })
  })

  it("takes actors that are alike for the same", async () => {
    // Of two clients at most one holds or leaves: idle/idle, idle/asking, asking/asking, and each of holding, leaving with idle and with asking.
    const explored = await explore(lockProduct(true), {})
    assert.deepInclude(explored, { states: 7, end: "exhausted", violations: [] })
  })

  it("tells states apart only by what is read", async () => {
    const explored = await explore(lockProduct(true), {})
    assert.deepStrictEqual(explored.fields, { client: ["grants"] })
  })

  it("begins again when something is read that nothing had read before", async () => {
    const product = lockProduct(true, ["a"])
    const late = {
      sentence: "It is never granted immediately.",
      broken: ({ actors }: Parameters<(typeof product.states)[0]["broken"]>[0]) =>
        actors.some(({ state, context }) => state === "leaving" && context.neverRead < 0) ? "It was." : null
    }
    // The first walk is too short to see it.
    const explored = await explore({ ...product, states: [late] }, {}, () => {}, 1)
    assert.deepInclude(explored, { restarts: 1, end: "exhausted" })
    assert.deepStrictEqual(explored.fields, { client: ["grants", "neverRead"] })
  })

  it("stops at the depth, and says so", async () => {
    const explored = await explore(lockProduct(true), { depth: 1 })
    assert.deepInclude(explored, { end: "depth", depth: 1 })
    assert.isBelow(explored.states, 7)
  })

  it("says what it saw when it is stopped", async () => {
    const explored = await explore(lockProduct(true), { signal: AbortSignal.abort() })
    assert.deepInclude(explored, { end: "stopped", states: 1 })
  })
})

describe("a violation", () => {
  it("has a shortest path, as a table, as a diagram and as events", async () => {
    const { violations } = await explore(lockProduct(false), {})
    const [{ sentence, depth, path }] = violations as [(typeof violations)[0]]
    assert.strictEqual(sentence, "One client holds the lock.")
    // Two ask, two are granted.
    assert.strictEqual(depth, 4)
    assert.match(
      pathTable(path),
      /\| 4 \| service \| [ab] acquire: takes the lock \| [ab] GRANTED: asking → holding \|/
    )
    assert.match(pathDiagram(path), /^sequenceDiagram\n(?:.*\n)* {2}service->>[ab]: GRANTED\n/)
    const all = Object.values(pathEvents(path)).flat()
    assert.deepStrictEqual(
      all.map(({ type }) => type),
      ["ASK", "GRANTED", "ASK", "GRANTED"],
      "each actor keeps its name on the way"
    )
  })

  it("is found where no fair path leads on", async () => {
    const product = lockProduct(true)
    const [kind] = product.kinds
    // A lock that is never given back.
    const commands = { ...kind!.commands, release: { lane: null, outcomes: () => [] } }
    const { violations } = await explore({ ...product, kinds: [{ ...kind!, commands }], states: [] }, {})
    assert.deepStrictEqual(
      violations.map(({ sentence }) => sentence),
      ["A client that asks gets the lock."]
    )
  })
})
