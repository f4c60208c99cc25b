import { assert, describe, it } from "vitest"
import { BoundedMap } from "../../../src/store/BoundedMap.ts"

const keys = (map: BoundedMap<string, number>) => [...map].map(([key]) => key).join("")

describe("a bounded map", () => {
  it("drops the entry that was set first", () => {
    const map = new BoundedMap<string, number>(3)
    for (const key of ["a", "b", "c", "a", "a", "d", "d", "e"]) map.set(key, 1)
    assert.strictEqual(keys(map), "ade")
  })

  it("moves an entry that was deleted and set again to the end, with its newest value", () => {
    const map = new BoundedMap<string, number>(3)
    map.set("a", 1)
    map.set("b", 1)
    map.delete("b")
    map.set("b", 2)
    map.set("a", 1)
    map.set("a", 3)
    assert.strictEqual(keys(map), "ba")
    assert.strictEqual(map.get("a"), 3)
    assert.strictEqual(map.get("b"), 2)
  })
})
