/**
 * The same lives as in memory, on the real ledger: two processes that post concurrently, one that ends in the middle,
 * everything posted twice.
 * npm run test:money -- --only "in Postgres" --runs 10000            400 of them
 */
import assert from "node:assert/strict"
import { Effect, ManagedRuntime } from "effect"
import { SqlClient } from "effect/sql"
import { afterAll, describe, it } from "vitest"
import type { Meter } from "../../../src/wallet/Fold.ts"
import { verifyUsage } from "../../../src/wallet/verify/verifyUsage.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { MemoryLedger } from "./MemoryLedger.ts"
import { MoneyRun } from "./MoneyRun.ts"
import { PostgresLedger } from "./PostgresLedger.ts"
import { checkScenarios, runs } from "./replay.ts"

const runtime = ManagedRuntime.make(TestDatabase.layer)
afterAll(() => runtime.dispose())

const uncut = ({ segments: _, ...meter }: Meter) => meter
const byId = (a: Meter, b: Meter) => (a.sandboxId < b.sandboxId ? -1 : 1)

describe("money", () => {
  it("in Postgres", () => {
    let crashes = 0
    return checkScenarios("in Postgres", runs(40), 30, (scenario) =>
      runtime.runPromise(
        Effect.scoped(
          Effect.gen(function* () {
            const accountId = "acc_money"
            const ledger = yield* PostgresLedger.of(accountId)
            const memory = new MemoryLedger(accountId)
            yield* Effect.promise(() => new MoneyRun(ledger, scenario, accountId).run())
            const sql = yield* SqlClient.SqlClient
            assert.deepEqual((yield* verifyUsage(sql, null)).differences, [], "a new fold of the whole log agrees")
            yield* Effect.promise(() => new MoneyRun(memory, scenario, accountId).run())
            const books = yield* Effect.promise(ledger.books)
            const truth = yield* Effect.promise(memory.books)
            // Segments may be cut elsewhere; nothing else may differ.
            const { balanceMicroUsd, debtMicroUsd } = truth.wallet
            assert.equal(books.wallet.balanceMicroUsd, balanceMicroUsd, "the balance is the one that it is in memory")
            assert.equal(books.wallet.debtMicroUsd, debtMicroUsd, "so is the debt")
            assert.deepEqual(books.meters.map(uncut), truth.meters.toSorted(byId).map(uncut), "so are the meters")
            const planned = memory.planNow(false).exhaustedAt
            const stored = yield* Effect.promise(ledger.exhaustedAt)
            if (planned === null || planned > memory.instant) assert.equal(stored, planned, "so is what is planned")
            else assert.ok(stored !== null && stored <= memory.instant, "it knows that nothing is left")
            crashes += ledger.crashes
          })
        )
      )
    ).then(() => assert.ok(crashes > 0, "processes ended in the middle"))
  }, 3_600_000)
})
