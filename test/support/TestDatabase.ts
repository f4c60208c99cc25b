/**
 * A fresh database for one test file or test: a copy of the migrated template, dropped when the layer's scope closes.
 *
 *     layer(TestDatabase.layer)("journal", (it) => { it.effect("…", () => …) })
 */
import { randomBytes } from "node:crypto"
import { PgClient } from "@effect/sql-pg"
import { Clock, Context, Effect, Layer, Redacted } from "effect"
import { inject } from "vitest"
import { Database } from "../../src/store/Database.ts"
import { DatabaseServer } from "../../src/store/DatabaseServer.ts"
import { recordHistories } from "./histories/recordHistories.ts"
import { testDatabaseUrl } from "./TestPostgres.ts"
import { testSettings } from "./TestSettings.ts"

export class TestDatabase extends Context.Service<
  TestDatabase,
  {
    readonly name: string
    /** As DATABASE_URL, for a process that the test starts. */
    readonly url: string
  }
>()("atoll/test/TestDatabase") {
  /** Only the database: for tests that start separate processes on it. */
  static readonly bare = Layer.effect(TestDatabase, create("atoll_template"))

  /** Only the database, empty. */
  static readonly empty = Layer.effect(TestDatabase, create("template0"))

  /** The database and its connections: SqlClient, PgClient, JournalDatabase, DatabaseServer. */
  static readonly layer = TestDatabase.#connected(TestDatabase.bare)

  /** The same, not migrated. */
  static readonly layerEmpty = TestDatabase.#connected(TestDatabase.empty)

  static #connected<E>(database: Layer.Layer<TestDatabase, E>) {
    const server = Layer.unwrap(Effect.map(TestDatabase, ({ url }) => DatabaseServer.at(Redacted.make(url))))
    return Database.layerOn.pipe(
      Layer.provideMerge(server),
      Layer.provide(testSettings()),
      Layer.provideMerge(database)
    )
  }
}

function create(template: string) {
  return Effect.gen(function* () {
    // A wait by a clock that no test moves would never end, and only where the machine is slow enough to need it.
    if ("adjust" in (yield* Clock.Clock)) {
      return yield* Effect.die(new Error("A database is used by the real clock: it.live, or excludeTestServices"))
    }
    const socketFolder = inject("testPostgresSocketFolder")
    const name = `test_${randomBytes(8).toString("hex")}`
    const admin = yield* Layer.build(
      PgClient.layer({ url: Redacted.make(testDatabaseUrl(socketFolder, "postgres")), maxConnections: 1 })
    )
    const sql = Context.get(admin, PgClient.PgClient)
    yield* Effect.acquireRelease(sql`create database ${sql(name)} template ${sql(template)} strategy file_copy`, () =>
      Effect.orDie(sql`drop database ${sql(name)} with (force)`)
    )
    const url = testDatabaseUrl(socketFolder, name)
    yield* Effect.addFinalizer(() => recorded(url))
    return { name, url }
  })
}

/** Its lives are kept, if the environment asks for that, when all that used it has ended. */
const recorded = (url: string) =>
  process.env["ATOLL_RECORD_HISTORIES"] === undefined
    ? Effect.void
    : Effect.flatMap(PgClient.PgClient, recordHistories).pipe(
        Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
        Effect.ignore
      )
