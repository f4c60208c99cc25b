/** The example of an actor of another kind: its exploration and its length. `test/system/examples/` has the faults that it must find. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "vitest"
import { lockMachine } from "../../../examples/lease/lock.ts"
import { lockProduct } from "../../../examples/lease/product.ts"
import { explore } from "../../../src/proofs/explore/explore.ts"

const folder = join(import.meta.dirname, "../../../examples/lease")
const read = (name: string) => readFileSync(join(folder, name), "utf8")

describe("the lock of examples/lease", () => {
  it("keeps its promises in every state with two clients, and takes every transition", async () => {
    const explored = await explore(lockProduct(lockMachine, ["ann", "ben"]), {})
    assert.deepInclude(explored, { end: "exhausted", violations: [] })
    assert.isAbove(explored.states, 500)
    assert.deepStrictEqual(
      [...explored.declared].filter((transition) => !explored.taken.has(transition)),
      []
    )
  })

  it("answers every event in every state", () => {
    const events = ["ACQUIRE", "RENEW", "RELEASE", "LEAVE", "EXPIRE", "GONE"]
    const unanswered = Object.values(lockMachine.states).flatMap(({ key, config, meta }) =>
      events
        .filter((event) => !(event in (config.on ?? {})))
        .filter((event) => !meta?.unchanged.includes(event) && !(event in (meta?.refuses ?? {})))
        .map((event) => `${key} ${event}`)
    )
    assert.deepStrictEqual(unanswered, [])
  })

  it("is explored in the lane of its interpreter", () => {
    const [, lane] = /tellHolder: \{\s*lane: "(\w+)"/.exec(read("lockActor.ts"))!
    assert.strictEqual(lockProduct(lockMachine, ["ann"]).kinds[0]!.commands["tellHolder"]!.lane, lane)
  })

  it("is what docs/actors.md shows: each block stands in one of its files", () => {
    const page = readFileSync(join(folder, "../../docs/actors.md"), "utf8")
    const blocks = Array.from(page.matchAll(/^```ts\n([\s\S]*?)^```$/gm), ([, block]) => block!)
    assert.lengthOf(blocks, 8)
    const sources = readdirSync(folder).map(read)
    assert.deepStrictEqual(
      blocks.filter((block) => !sources.some((source) => source.includes(block))),
      []
    )
  })

  it("has less than 150 lines, its interpreter included", () => {
    const lines = ["lock.ts", "lockActor.ts"].map((name) => read(name).split("\n").length - 1)
    assert.isBelow(lines[0]! + lines[1]!, 150)
  })
})
