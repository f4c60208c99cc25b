/** The crash sweep of the example, once over a short scenario; `test/system/examples/` has the faults that it must find. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sweep } from "../../../examples/lease/sweep.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a lock with leases", (it) => {
  it.effect("keeps its promises over a crash at each effect of its life", () =>
    Effect.gen(function* () {
      const { crashes, faults } = yield* sweep([["ann", "ACQUIRE"]])
      assert.deepStrictEqual(faults, [])
      // Both sides of four commits and of a call, and an answer: fewer would not be all.
      assert.isAtLeast(crashes, 11)
    })
  )
})
