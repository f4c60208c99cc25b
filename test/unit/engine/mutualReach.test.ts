/** Which processes of a cluster own actors, by the processes that each of them reaches. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { mutualReach, reachEachOther } from "../../../src/engine/mutualReach.ts"

interface Process {
  readonly id: string
  readonly machineId: number
  readonly reached: ReadonlyArray<string> | null
}

/** `lacks` are pairs [from, to] of processes by their numbers: the first does not reach the second. */
const processes = (count: number, lacks: ReadonlyArray<readonly [number, number]>): ReadonlyArray<Process> =>
  Array.from({ length: count }, (_, own) => ({
    id: `p${own}`,
    machineId: own,
    reached: Array.from({ length: count }, (_, to) => to)
      .filter((to) => !lacks.some(([from, of]) => from === own && of === to))
      .map((to) => `p${to}`)
  }))

const names = (members: ReadonlyArray<Process>) => members.map(({ id }) => id).join(" ")

describe("processes that own actors", () => {
  const all = (own: number, others: ReadonlyArray<number>) =>
    others.flatMap(
      (other): ReadonlyArray<readonly [number, number]> => [
        [own, other],
        [other, own]
      ]
    )
  const cases: ReadonlyArray<readonly [string, number, ReadonlyArray<readonly [number, number]>, string]> = [
    ["one that is alone", 1, [], "p0"],
    ["all that reach each other", 3, [], "p0 p1 p2"],
    ["not one that no other reaches", 3, all(1, [0, 2]), "p0 p2"],
    [
      "not one that reaches the others and is not reached",
      3,
      [
        [0, 2],
        [1, 2]
      ],
      "p0 p1"
    ],
    [
      "not one that is reached and reaches no other",
      3,
      [
        [0, 1],
        [0, 2]
      ],
      "p1 p2"
    ],
    ["the older of two that do not reach each other", 2, all(0, [1]), "p0"],
    ["the older of two of which one reaches the other", 2, [[0, 1]], "p0"],
    ["the older of two halves", 4, [...all(0, [2, 3]), ...all(1, [2, 3])], "p0 p1"],
    ["the larger of two parts, although it is younger", 5, [...all(0, [2, 3, 4]), ...all(1, [2, 3, 4])], "p2 p3 p4"],
    [
      "the younger of two that do not reach each other, if only that one reaches hosts",
      2,
      [...all(0, [1]), [0, 0]],
      "p1"
    ],
    ["the older of two, if neither reaches hosts", 2, [...all(0, [1]), [0, 0], [1, 1]], "p0"],
    ["the larger part, although it reaches no hosts", 3, [...all(0, [1, 2]), [1, 1], [2, 2]], "p1 p2"],
    ["the oldest where none reaches another", 3, [...all(0, [1, 2]), ...all(1, [2])], "p0"],
    ["of a chain one end and its neighbour", 3, all(0, [2]), "p0 p1"]
  ]
  for (const [what, count, lacks, members] of cases) {
    it(`are ${what}`, () => assert.strictEqual(names(mutualReach(processes(count, lacks))), members))
  }

  it("include one of a version that does not try the others, if it reaches them", () => {
    const [one, two, old] = processes(3, []) as [Process, Process, Process]
    const before = { ...old, reached: null }
    assert.strictEqual(names(mutualReach([one, two, before])), "p0 p1 p2")
    assert.strictEqual(names(mutualReach([one, { ...two, reached: ["p0", "p1"] }, before])), "p0 p1")
    assert.strictEqual(names(mutualReach([before, { ...old, id: "p3", machineId: 3, reached: null }])), "p2 p3")
  })

  it("are the largest set in which all reach each other, the same for every judge, and never empty", () => {
    const graph = fc.integer({ min: 1, max: 7 }).chain((count) =>
      fc.record({
        count: fc.constant(count),
        lacks: fc.array(fc.tuple(fc.nat(count - 1), fc.nat(count - 1)), { maxLength: count * count }),
        order: fc.shuffledSubarray(
          Array.from({ length: count }, (_, at) => at),
          { minLength: count }
        )
      })
    )
    fc.assert(
      fc.property(graph, ({ count, lacks, order }) => {
        const found = processes(count, lacks)
        const members = mutualReach(found)
        assert.isAbove(members.length, 0)
        for (const one of members) {
          for (const other of members) if (one !== other) assert.isTrue(reachEachOther(one, other))
        }
        let most = 0
        for (let some = 1; some < 1 << count; some++) {
          const set = found.filter((_, at) => (some >> at) & 1)
          if (set.every((one) => set.every((other) => one === other || reachEachOther(one, other)))) {
            most = Math.max(most, set.length)
          }
        }
        assert.strictEqual(members.length, most)
        assert.strictEqual(names(mutualReach(order.map((at) => found[at]!))), names(members))
      }),
      { numRuns: 500 }
    )
  })

  it("are found soon among many, whichever part of them is cut off", () => {
    const count = 60
    const half = Array.from({ length: count / 2 }, (_, at) => at)
    const rest = half.map((at) => at + count / 2)
    const lacks = half.flatMap((at) => all(at, rest))
    assert.strictEqual(mutualReach(processes(count, lacks)).length, count / 2)
  })
})
