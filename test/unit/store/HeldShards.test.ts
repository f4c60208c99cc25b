/** What a process knows of its lease by its own clock: it believes in no shard longer than the database may keep it. */
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { HeldShards } from "../../../src/store/HeldShards.ts"

const leaseMs = 1000
let now = 0
const at = (instant: number) => {
  now = instant
}

beforeEach(() => {
  at(0)
  vi.spyOn(performance, "now").mockImplementation(() => now)
})
afterEach(() => {
  vi.restoreAllMocks()
})

const joined = () => {
  const held = new HeldShards(leaseMs)
  held.joined(0)
  held.ask(["a", "b"])
  held.taken(["a", "b"])
  return held
}

describe("a lease", () => {
  it("counts from the request, and ends by itself", () => {
    const held = joined()
    at(999)
    assert.isTrue(held.isLeased)
    at(1000)
    assert.isFalse(held.isLeased)
    held.renewed(900, true, ["a", "b"], ["a", "b"])
    at(1899)
    assert.isTrue(held.isLeased)
    at(1900)
    assert.isFalse(held.isLeased)
  })

  it("of a process that the others have removed is over", () => {
    const held = joined()
    at(100)
    held.renewed(100, false, ["a", "b"], [])
    assert.isFalse(held.isLeased)
    assert.isFalse(held.has("a"))
  })
})

describe("a shard", () => {
  it("that the database has given to another process is lost, and begins a new epoch when it returns", () => {
    const held = joined()
    const [a, b] = [held.epochOf("a"), held.epochOf("b")]
    held.renewed(100, true, ["a", "b"], ["b"])
    assert.deepStrictEqual([held.has("a"), held.has("b"), held.epochOf("a")], [false, true, 0])
    held.taken(["a", "b"])
    assert.strictEqual(held.epochOf("b"), b)
    assert.notInclude([0, a, b], held.epochOf("a"))
  })

  it("that was just asked for is kept without a word of the caller, and is given back after a lease", () => {
    const held = joined()
    at(leaseMs)
    assert.sameMembers([...held.keep([])], ["a", "b"])
    assert.isTrue(held.has("a"))
    at(leaseMs + 1)
    assert.sameMembers([...held.keep(["b"])], ["b"])
    assert.deepStrictEqual([held.has("a"), held.has("b")], [false, true])
  })

  it("is none of a process that joins again", () => {
    const held = joined()
    held.joined(0)
    assert.isFalse(held.has("a"))
  })
})
