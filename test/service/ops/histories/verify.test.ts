/** `atoll histories verify`, as its own process. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { atoll, documentOf, withinMs } from "../../../support/commandLine.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("histories verify on the command line", (it) => {
  it.effect(
    "says that each log comes to the stored state, or which actors differ and how, and migrates nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const name of ["one", "two"]) {
          yield* documentOf("accounts", "create", "--name", name, "--billing", "prepaid", "--json")
          yield* documentOf("credit", "grant", "--account", name, "--usd", "12.50", "--json")
        }
        yield* sql`delete from effect_sql_migrations where migration_id = (select max(migration_id) from effect_sql_migrations)`
        const migrations = sql<{ n: number }>`select count(*)::int4 as n from effect_sql_migrations`
        const before = yield* migrations
        const fine = yield* atoll("histories", "verify")
        assert.deepStrictEqual([fine.code, fine.stderr], [0, ""])
        assert.match(fine.stdout, /^\d+ transitions of 2 actors folded in .* Each comes to the state that is stored\.\n$/)

        const [wallet] = yield* sql<{ id: string }>`select id from actors where kind = 'wallet' order by id limit 1`
        yield* sql`update actors set snapshot = jsonb_set(snapshot, '{context,accountId}', '"acc_other"') where id = ${wallet!.id}`
        yield* sql`insert into transitions (actor_id, revision, at, event, to_state, commands, cause, commit_token)
                   values ('sbx_gone', 1, 0, '{}', 'pending', '[]', 'test', '')`
        const differs = yield* atoll("histories", "verify")
        assert.strictEqual(differs.code, 1)
        assert.include(differs.stdout, wallet!.id)
        assert.include(differs.stdout, 'its context.accountId is "acc_other", and the log folds to "acc_')
        assert.strictEqual(
          differs.stderr,
          "atoll: 1 actor would differ under this version. 1 transition of no actor.\n"
        )
        const { code, stdout } = yield* atoll("histories", "verify", "--json")
        const found = JSON.parse(stdout)
        assert.deepStrictEqual([code, found.actors, found.orphans, found.differencesCount], [1, 2, 1, 1])
        assert.strictEqual(found.differences[0].actorId, wallet!.id)
        assert.deepStrictEqual(yield* migrations, before)
      }),
    withinMs
  )
})
