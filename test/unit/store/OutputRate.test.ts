import fc from "fast-check"
import { assert, it } from "vitest"
import { OutputRate } from "../../../src/store/OutputRate.ts"

const second = 1000

it("the output rate passes a burst immediately, and later bytes at the rate", () => {
  const rate = new OutputRate(100, 1000)
  assert.strictEqual(rate.take("a", 1000, 0), 0)
  assert.strictEqual(rate.take("a", 50, 0), second / 2)
  assert.strictEqual(rate.take("a", 50, 0), second)
  assert.strictEqual(rate.waitMs("a", second / 2), second / 2)
})

it("the output rate gives a silent Sandbox its burst again, and no more than that", () => {
  const rate = new OutputRate(100, 1000)
  rate.take("a", 1000, 0)
  assert.strictEqual(rate.take("a", 1000, 60 * second), 0)
  assert.strictEqual(rate.take("a", 100, 60 * second), second)
})

it("the output rate does not delay a Sandbox for another's output", () => {
  const rate = new OutputRate(100, 1000)
  rate.take("a", 1_000_000, 0)
  assert.strictEqual(rate.take("b", 1000, 0), 0)
})

it("the output rate never stores more than the burst and the rate allow, for any sequence of writes", () => {
  const write = fc.record({ sandbox: fc.constantFrom("a", "b"), bytes: fc.nat(5000), pauseMs: fc.nat(3000) })
  fc.assert(
    fc.property(fc.array(write, { maxLength: 60 }), (writes) => {
      const rate = new OutputRate(100, 1000)
      const stored = { a: 0, b: 0 }
      let now = 0
      for (const { sandbox, bytes, pauseMs } of writes) {
        now += pauseMs
        const at = now + rate.take(sandbox as "a" | "b", bytes, now)
        stored[sandbox as "a" | "b"] += bytes
        assert.isAtMost(stored[sandbox as "a" | "b"], 1000 + at / 10)
      }
    })
  )
})
