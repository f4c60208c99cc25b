/** `atoll usage verify`, as its own process. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { atoll, documentOf, withinMs } from "../../support/commandLine.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("usage verify on the command line", (it) => {
  it.effect(
    "reports that everything agrees, or the differences with exit code 1",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const name of ["one", "two"]) {
          yield* documentOf("accounts", "create", "--name", name, "--billing", "prepaid", "--json")
          yield* documentOf("credit", "grant", "--account", name, "--usd", "12.50", "--json")
        }
        const fine = yield* atoll("usage", "verify")
        assert.deepStrictEqual([fine.code, fine.stderr], [0, ""])
        assert.include(fine.stdout, "2 accounts, 2 grants, 2 entries. Everything agrees.")

        yield* sql`update wallets set balance_micro_usd = balance_micro_usd + 1
                   where account_id = (select id from accounts where name = 'two')`
        const prose = yield* atoll("usage", "verify")
        assert.strictEqual(prose.code, 1)
        assert.match(prose.stdout, /^balance of the wallet +acc_[0-9a-z]{26} +- +12500000 +12500001$/m)
        assert.strictEqual(prose.stderr, "atoll: The books differ from the log, in 2 places.\n")
        const { code, stdout } = yield* atoll("usage", "verify", "--account", "two", "--json")
        const found = JSON.parse(stdout)
        assert.deepStrictEqual([code, found.accounts, found.differencesCount, found.costMicroUsd], [1, 1, 2, "0"])
        assert.deepInclude(found.differences[0], { expected: "12500000", found: "12500001" })
        const one = yield* documentOf("usage", "verify", "--account", "one", "--json")
        assert.deepStrictEqual([one.accounts, one.differences], [1, []])
        const refused = yield* atoll("usage", "verify", "--account", "unknown")
        assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
      }),
    withinMs
  )
})
