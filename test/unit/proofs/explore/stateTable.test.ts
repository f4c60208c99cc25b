/** The table of explored states. */
import { assert, it } from "vitest"
import { StateTable } from "../../../../src/proofs/explore/StateTable.ts"

it("finds each of many states again, and only those", () => {
  const table = new StateTable(3)
  const count = 100_000
  const row = (index: number) => [index % 7, Math.floor(index / 7) % 11, Math.floor(index / 77)]
  for (let index = 0; index < count; index++) assert.strictEqual(table.add(row(index), index >> 1, index % 5), index)
  for (let index = 0; index < count; index += 97) {
    assert.strictEqual(table.add(row(index), 0, 0), index)
    assert.deepStrictEqual([...table.row(index)], row(index))
    assert.deepStrictEqual([table.parent(index), table.step(index)], [index >> 1, index % 5])
  }
  assert.strictEqual(table.size, count)
})
