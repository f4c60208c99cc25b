/** `atoll histories verify`, as its own process. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { atoll, withinMs } from "../../../support/commandLine.ts"
import { readHistories, recordedOrigins } from "../../../support/histories/History.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const lives = recordedOrigins()
  .filter(({ kind }) => kind === "operation")
  .flatMap(({ file }) => readHistories(file))
  .slice(0, 3)

layer(TestDatabase.layer, { excludeTestServices: true })("histories verify on the command line", (it) => {
  it.effect(
    "says that each log folds to the stored state, or which actors differ and how, and migrates nothing",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        for (const [index, { kind, machineVersion, input, log, end }] of lives.entries()) {
          const id = `life_${index}`
          yield* sql`insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
            values (${id}, ${kind}, 'acc_1', 'sbx_1', ${machineVersion}, ${log.length}::int4, ${JSON.stringify(input)}::jsonb, ${JSON.stringify(end)}::jsonb, 0)`
          for (const [at, { event, from, to, commands }] of log.entries()) {
            yield* sql`insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
              values (${id}, ${at + 1}::int4, 0, ${JSON.stringify(event)}::jsonb, ${from}, ${to}, ${JSON.stringify(commands)}::jsonb, 'test', '')`
          }
        }
        yield* sql`delete from atoll_migrations where migration_id = (select max(migration_id) from atoll_migrations)`
        const migrations = sql<{ n: number }>`select count(*)::int4 as n from atoll_migrations`
        const before = yield* migrations
        const fine = yield* atoll("histories", "verify")
        assert.deepStrictEqual([fine.code, fine.stderr], [0, ""])
        assert.match(fine.stdout, /^\d+ transitions of 3 actors folded in .* Each ends in the stored state\.\n$/)

        yield* sql`update actors set snapshot = jsonb_set(snapshot, '{context,accountId}', '"acc_other"') where id = 'life_1'`
        yield* sql`insert into transitions (actor_id, revision, at, event, to_state, commands, cause, commit_token)
                   values ('sbx_gone', 1, 0, '{}', 'pending', '[]', 'test', '')`
        const differs = yield* atoll("histories", "verify")
        assert.strictEqual(differs.code, 1)
        assert.include(differs.stdout, "life_1")
        assert.include(differs.stdout, 'its context.accountId is "acc_other", and the log folds to "acc_')
        assert.strictEqual(
          differs.stderr,
          "atoll: 1 actor would differ under this version. 1 transition of no actor.\n"
        )
        const { code, stdout } = yield* atoll("histories", "verify", "--json")
        const found = JSON.parse(stdout)
        assert.deepStrictEqual([code, found.actors, found.orphans, found.differencesCount], [1, 3, 1, 1])
        assert.strictEqual(found.differences[0].actorId, "life_1")
        assert.deepStrictEqual(yield* migrations, before)
      }),
    withinMs
  )
})
