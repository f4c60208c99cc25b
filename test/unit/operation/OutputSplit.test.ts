/** Which cuts of a stream are stored, where retention keeps only its last bytes. */
import { assert, it } from "vitest"
import { lastOf, OutputSplit } from "../../../src/operation/OutputSplit.ts"

const cut = (offset: number, length: number, follows = offset) => ({ follows, offset, bytes: new Uint8Array(length) })

it("cuts that hold a kept byte are stored, and one that ends where the kept bytes begin is not", () => {
  const cuts = [cut(0, 10), cut(10, 10), cut(20, 10)]
  assert.deepStrictEqual(lastOf(21, cuts), cuts)
  assert.deepStrictEqual(lastOf(20, cuts), [cut(10, 10, 0), cut(20, 10)])
  assert.deepStrictEqual(lastOf(1, cuts), [cut(20, 10, 0)])
  assert.deepStrictEqual(lastOf(0, cuts), [cut(30, 0, 0)])
  assert.deepStrictEqual(lastOf(0, []), [])
})

it("no cut of a long end is inside of a character", () => {
  const euros = "€".repeat(30_000)
  const cuts = new OutputSplit(0).take([{ offset: 0, bytes: Buffer.from(euros) }], true)
  assert.isAbove(cuts.length, 1)
  assert.strictEqual(cuts.map(({ bytes }) => Buffer.from(bytes).toString()).join(""), euros)
})
