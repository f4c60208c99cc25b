import { spawnSync } from "node:child_process"
import { assert, describe, it } from "vitest"
import { Gathering } from "../../../src/store/Gathering.ts"

const member = (name: string) => ({ place: -1, name })
const names = (gathering: Gathering<ReturnType<typeof member>>) =>
  gathering
    .all()
    .map(({ name }) => name)
    .sort()
    .join("")

/** Prints the growth of the old generation in bytes while half a million members come and go, 32 at a time. */
const churn = `
  import { getHeapSpaceStatistics } from "node:v8"
  import { Gathering } from ${JSON.stringify(new URL("../../../src/store/Gathering.ts", import.meta.url))}
  const old = () => getHeapSpaceStatistics().find((space) => space.space_name === "old_space").space_used_size
  const gathering = new Gathering()
  const come = () => {
    const member = { place: -1, held: new Array(64).fill(0) }
    gathering.add(member)
    return member
  }
  const there = Array.from({ length: 32 }, come)
  // Until it is itself in the old generation.
  let garbage = 0
  for (let turn = 0; turn < 100_000; turn++) garbage += new Array(64).fill(turn).length
  const before = old()
  for (let turn = 0; turn < 500_000; turn++) {
    gathering.delete(there[turn % 32])
    there[turn % 32] = come()
  }
  console.log(old() - before)`

describe("a gathering", () => {
  it("has the members that were added and not removed, in any order of both", () => {
    const gathering = new Gathering<ReturnType<typeof member>>()
    const [a, b, c, d] = [member("a"), member("b"), member("c"), member("d")]
    for (const one of [a, b, c, d]) gathering.add(one)
    gathering.delete(b)
    assert.strictEqual(names(gathering), "acd")
    gathering.delete(b)
    gathering.delete(d)
    assert.strictEqual(names(gathering), "ac")
    gathering.add(b)
    gathering.delete(a)
    gathering.delete(c)
    assert.strictEqual(names(gathering), "b")
    gathering.delete(b)
    assert.strictEqual(names(gathering), "")
  })

  it("iterates over all members even if they are removed meanwhile", () => {
    const gathering = new Gathering<ReturnType<typeof member>>()
    for (const name of ["a", "b", "c"]) gathering.add(member(name))
    const seen: Array<string> = []
    for (const one of gathering.all()) {
      gathering.delete(one)
      seen.push(one.name)
    }
    assert.deepStrictEqual(seen, ["a", "b", "c"])
  })

  it("releases a removed member to the garbage collector immediately", () => {
    const { stdout, stderr } = spawnSync(
      process.execPath,
      ["--max-semi-space-size=1", "--input-type=module", "-e", churn],
      { encoding: "utf8" }
    )
    assert.strictEqual(stderr, "")
    assert.isBelow(Number(stdout.trim() || Number.NaN), 8 * 2 ** 20)
  })
})
