/**
 * The second lock: if the wallet's failed, a posting that read a meter before another one wrote it would still write
 * nothing.
 */
import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { type FoldedTransition, fold, newMeter } from "../../../src/wallet/Fold.ts"
import { writeMeters } from "../../../src/wallet/LedgerWrites.ts"
import { readMeters } from "../../../src/wallet/meterReads.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const sandbox = {
  sandboxId: "sbx_1",
  accountId: "acc_1",
  workspaceId: "wsp_1",
  name: null,
  vcpus: 1,
  memoryBytes: 2 ** 30,
  volumeBytes: 2 ** 30,
  snapshotOf: null
}
const rules = { cards: [], cuts: [] }

const line = (revision: number, from: string | null, to: string): FoldedTransition => ({
  revision,
  at: revision * 1000,
  from,
  to,
  seenAt: null,
  sizes: null
})

layer(TestDatabase.layer, { excludeTestServices: true })("a posting of a meter that was posted meanwhile", (it) => {
  it.effect("changes nothing", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const none = newMeter(sandbox)
      const runs = fold(none, [line(1, null, "pending"), line(2, "pending", "running")], null, [], rules).meter
      const stops = fold(runs, [line(3, "running", "stopping")], null, [], rules).meter
      const longer = fold(runs, [], 5000, [], rules).meter
      const stored = Effect.map(readMeters(sql, ["sbx_1"]), (meters) => meters.get("sbx_1"))
      const isRefused = (exit: Exit.Exit<unknown, unknown>) =>
        Exit.isFailure(exit) && /Another posting has already charged/.test(Cause.pretty(exit.cause))

      yield* writeMeters(sql, [{ before: none, after: runs }])
      assert.isTrue(isRefused(yield* Effect.exit(writeMeters(sql, [{ before: none, after: runs }]))), "made twice")
      yield* writeMeters(sql, [{ before: runs, after: stops }])
      const again = yield* Effect.exit(writeMeters(sql, [{ before: runs, after: stops }]))
      assert.isTrue(isRefused(again), "folded twice")
      assert.deepStrictEqual(yield* stored, stops)

      // No transition, but more segments.
      const further = fold(stops, [], 9000, [], rules).meter
      yield* writeMeters(sql, [{ before: stops, after: further }])
      const settled = yield* Effect.exit(writeMeters(sql, [{ before: stops, after: { ...longer, revision: 3 } }]))
      assert.isTrue(isRefused(settled), "settled twice")
      assert.deepStrictEqual(yield* stored, further)
    })
  )
})
