import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationRecord, Migrations, migrate, migrations } from "../../../src/store/Migrations.ts"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { columnFaults } from "../../support/derivedColumns.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const run = promisify(execFile)
const program = join(import.meta.dirname, "fixtures/migrate.ts")

const step = (statement: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement))

const one: MigrationRecord = { "0001_first": step("create table first (id int)") }
const two: MigrationRecord = { ...one, "0002_second": step("create table second (id int)") }

const tables = Effect.map(
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql<{ name: string }>`select table_name::text as name from information_schema.tables
                            where table_schema = 'public' order by 1`
  ),
  (rows) => rows.map((row) => row.name)
)

describe("migrations", () => {
  it.live("are applied once by processes that start together", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const start = Effect.promise(() =>
        run(process.execPath, [program], { env: { PATH: process.env["PATH"], ...compiledOnce, DATABASE_URL: url } })
      )
      const outputs = yield* Effect.all([start, start, start, start], { concurrency: 4 })
      assert.deepStrictEqual(outputs.map(({ stdout }) => stdout.trim()).toSorted(), ["0", "0", "0", "2"])
      assert.deepStrictEqual(yield* tables, ["atoll_migrations", "first", "second"])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("continue from the database's last step", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* migrate(one), ["0001_first"])
      assert.deepStrictEqual(yield* migrate(two), ["0002_second"])
      assert.deepStrictEqual(yield* migrate(two), [])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("are all or nothing: a failing step rolls back the earlier ones of its start", () =>
    Effect.gen(function* () {
      const broken: MigrationRecord = { ...one, "0002_broken": step("create table first (id int)") }
      assert.strictEqual((yield* Effect.exit(migrate(broken)))._tag, "Failure")
      assert.notInclude(yield* tables, "first")
      assert.deepStrictEqual(yield* migrate(two), ["0001_first", "0002_second"])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("refuse a database that a newer version has migrated", () =>
    Effect.gen(function* () {
      yield* migrate(two)
      assert.match((yield* Effect.flip(migrate(one))).message, /shaped by a newer Atoll \(its step 2 is unknown here\)/)
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("refuse to skip a step that comes before those already applied", () =>
    Effect.gen(function* () {
      yield* migrate({ "0002_second": step("create table second (id int)") })
      assert.match((yield* Effect.flip(migrate(two))).message, /lacks the migration 1, yet has later ones/)
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("make plain columns of generated ones without reading a row: values and indexes stay", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const until = (last: string) => Object.fromEntries(Object.entries(migrations).filter(([name]) => name <= last))
      yield* migrate(until("0025_sandbox_uses"))
      yield* sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
        select kind || n, kind, 'acc', 'sbx', 1, 1, '{}', jsonb_build_object('value', case n % 3 when 0 then 'open' else 'over' end, 'context',
          jsonb_build_object('generation', n % 5, 'metadata', jsonb_build_object('n', n::text), 'startedAt', n + 0.5, what, case when n % 3 > 0 then n * 2.5 end)), n
        from (values ('operation', 'finishedAt'), ('preview', 'endedAt'), ('sandbox', 'deletedAt')) as kinds (kind, what), generate_series(1, 2000) n`
      const state = Effect.all([
        sql`select id, ended_at, outcome, duration_ms, generation, sandbox_status, labels, ctid::text from actors order by id`,
        sql`select indexname, indexdef from pg_indexes where tablename = 'actors' order by 1`,
        sql`select pg_relation_filenode('actors') as file`
      ])
      const before = yield* state
      assert.deepStrictEqual(yield* migrate(until("0026_plain_columns")), ["0026_plain_columns"])
      assert.deepStrictEqual(yield* state, before)
      const generated = yield* sql<{ readonly name: string }>`
        select attname::text as name from pg_attribute where attrelid = 'actors'::regclass and attgenerated <> '' order by 1`
      assert.deepStrictEqual(
        generated.map(({ name }) => name),
        ["status", "workspace_id"]
      )
      // Later steps fill the columns that were added since.
      yield* migrate(migrations)
      assert.deepStrictEqual(yield* columnFaults, [])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("of this version are applied to the test database, and nothing is left to do", () =>
    Effect.gen(function* () {
      const before = yield* tables
      yield* Effect.scoped(Layer.build(Migrations.layer))
      assert.deepStrictEqual(yield* tables, before)
      assert.include(before, "atoll_migrations")
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})
