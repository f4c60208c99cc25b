import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { type MigrationRecord, Migrations, migrate } from "../../src/store/Migrations.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

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
        run(process.execPath, [program], { env: { PATH: process.env["PATH"], DATABASE_URL: url } })
      )
      const outputs = yield* Effect.all([start, start, start, start], { concurrency: 4 })
      assert.deepStrictEqual(outputs.map(({ stdout }) => stdout.trim()).toSorted(), ["0", "0", "0", "2"])
      assert.deepStrictEqual(yield* tables, ["atoll_migrations", "first", "second"])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("go on from where the database is", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* migrate(one), ["0001_first"])
      assert.deepStrictEqual(yield* migrate(two), ["0002_second"])
      assert.deepStrictEqual(yield* migrate(two), [])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("are all or nothing: a step that fails takes the earlier ones of its start back", () =>
    Effect.gen(function* () {
      const broken: MigrationRecord = { ...one, "0002_broken": step("create table first (id int)") }
      assert.strictEqual((yield* Effect.exit(migrate(broken)))._tag, "Failure")
      assert.notInclude(yield* tables, "first")
      assert.deepStrictEqual(yield* migrate(two), ["0001_first", "0002_second"])
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("refuse a database that newer code has shaped", () =>
    Effect.gen(function* () {
      yield* migrate(two)
      assert.match((yield* Effect.flip(migrate(one))).message, /shaped by a newer Atoll \(its step 2 is unknown here\)/)
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("refuse to leave out a step that comes before those already applied", () =>
    Effect.gen(function* () {
      yield* migrate({ "0002_second": step("create table second (id int)") })
      assert.match((yield* Effect.flip(migrate(two))).message, /lacks the migration 1, yet has later ones/)
    }).pipe(Effect.provide(TestDatabase.layerEmpty))
  )

  it.live("of this version are on the test database, and have nothing left to do", () =>
    Effect.gen(function* () {
      const before = yield* tables
      yield* Effect.scoped(Layer.build(Migrations.layer))
      assert.deepStrictEqual(yield* tables, before)
      assert.include(before, "atoll_migrations")
    }).pipe(Effect.provide(TestDatabase.layer))
  )
})
