/** A page of a list, and the cursor to the next one. */
import { assert, it } from "vitest"
import { pageOf } from "../../../src/lists/Paging.ts"

const binding = ["acc_1", "things"] as const
const entries = [1, 2, 3]
const cut = (limit: number | null) => pageOf(binding, entries, limit, String)

it("a page of exactly as many entries as there are has no next one, and a smaller one has", () => {
  assert.deepStrictEqual(cut(3), { entries, nextCursor: null })
  assert.deepStrictEqual(cut(4), { entries, nextCursor: null })
  assert.deepStrictEqual(cut(null), { entries, nextCursor: null })
  assert.deepStrictEqual(cut(2).entries, [1, 2])
  assert.isString(cut(2).nextCursor)
})
