/** The one form of states that nothing can tell apart. */
import { assert, describe, it } from "vitest"
import {
  canonical,
  countsOf,
  isRenumbered,
  type Local,
  NOW,
  renumbered,
  renumbering,
  withPassed
} from "../../../../src/proofs/explore/canonical.ts"

const local = (more: Partial<Local>): Local => ({
  kind: "k",
  value: "v",
  context: {},
  commands: [],
  deadlines: {},
  late: [],
  ...more
})

const dueAt = (at: number) => ({ at, event: { type: "DUE" } })

describe("instants", () => {
  it("that have passed are alike, however long ago", () => {
    const forms = [1, 5_000_000].map((ago) => canonical(local({ context: { seenAt: NOW - ago } })))
    assert.deepStrictEqual(forms[0], forms[1])
  })

  it("that have not passed stay so, in their order, however far away", () => {
    const forms = [1, 5_000_000].map((ahead) =>
      canonical(local({ deadlines: { a: dueAt(NOW + ahead), b: dueAt(NOW + ahead + 1) } }))
    )
    assert.deepStrictEqual(forms[0], forms[1])
    assert.isTrue(forms[0]!.deadlines["a"]!.at > NOW && forms[0]!.deadlines["a"]!.at < forms[0]!.deadlines["b"]!.at)
  })

  it("of a context and a deadline stay equal, or different, also when they pass", () => {
    const [same, other] = [0, 1].map((apart) =>
      canonical(local({ context: { expiresAt: NOW + 10 + apart }, deadlines: { expiry: dueAt(NOW + 10) } }))
    ) as [Local, Local]
    assert.notDeepEqual(same, other)
    const passed = (one: Local) => canonical(withPassed(one, one.deadlines["expiry"]!.at))
    assert.strictEqual(passed(same).context["expiresAt"], passed(same).deadlines["expiry"]!.at)
    assert.isAbove(passed(other).context["expiresAt"] as number, NOW)
  })
})

describe("commands", () => {
  it("wait in no order, and equal ones once", () => {
    const [a, b] = ["a", "b"].map((type) => ({ type, params: {} })) as [Local["commands"][0], Local["commands"][0]]
    assert.deepStrictEqual(canonical(local({ commands: [b, a, b] })), canonical(local({ commands: [a, b] })))
  })
})

describe("counters", () => {
  it("keep 1, and lose their gaps", () => {
    const value = { generation: 7, inner: [{ generation: 1 }, { generation: 4 }], other: 9 }
    const bits = countsOf(value, "generation")
    assert.isFalse(isRenumbered(bits))
    const form = renumbered(value, "generation", renumbering(bits))
    assert.deepStrictEqual(form, { generation: 3, inner: [{ generation: 1 }, { generation: 2 }], other: 9 })
    assert.isTrue(isRenumbered(countsOf(form, "generation")))
  })
})
