/** Notifications of other processes reach every subscriber, also when their connection breaks. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Queue, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { obstacleOf, WorkerList, Workers, worker } from "../../../src/platform/worker/Worker.ts"
import { Database } from "../../../src/store/Database.ts"
import { DatabaseClaim } from "../../../src/store/DatabaseClaim.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { Notices } from "../../../src/store/Notices.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testDatabaseUrl } from "../../support/TestPostgres.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"

const name = "atoll-notices"

const backends = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly pid: number }>`
    select pid from pg_stat_activity where application_name = ${name} and datname = current_database()`
)

const breakAll = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where application_name = ${name} and datname = current_database()`
)

const say = (channel: string, word: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`select pg_notify(${channel}, ${word})`)

/** The notifications of a channel that a worker received, in order; null where it may have missed some. */
const listener = Effect.fnUntraced(function* (channel: string) {
  const { listen } = yield* Notices
  const heard: Array<string | null> = []
  const hear = Effect.gen(function* () {
    const queue = yield* listen(channel)
    while (true) heard.push(yield* Queue.take(queue))
  })
  yield* worker(channel, Effect.scoped(hear))
  return heard
})

layer(TestDatabase.layer, { excludeTestServices: true })("notifications", (it) => {
  it.effect("reach all listeners over one connection, on each channel, and after the connection broke", () =>
    Effect.gen(function* () {
      const channels = ["one", "two", "three"]
      const heard = yield* Effect.forEach(channels, listener)
      for (let round = 1; round <= 3; round++) {
        yield* until(
          Effect.sync(() => heard.map((all) => all.filter((it) => it === null).length)),
          (counts) => counts.every((count) => count === round)
        )
        const [open, ...others] = yield* backends
        assert.deepStrictEqual(others, [])
        for (const channel of channels) yield* say(channel, `${channel} ${round}`)
        for (const [at, channel] of channels.entries()) {
          yield* until(
            Effect.sync(() => heard[at]!.at(-1)),
            (last) => last === `${channel} ${round}`
          )
        }
        yield* breakAll
        yield* until(backends, ([next]) => next !== undefined && next.pid !== open!.pid)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("are missing while there is no connection: the workers that need them wait, and report it", () =>
    Effect.gen(function* () {
      const { name: database, url } = yield* TestDatabase
      const list = new WorkerList()
      const own = yield* Layer.build(
        Layer.fresh(Database.layerOn).pipe(
          Layer.provide([DatabaseServer.at(Redacted.make(url)), testSettings(), Layer.succeed(Workers, list)])
        )
      )
      const heard = yield* listener("four").pipe(
        Effect.provideService(Notices, Context.get(own, Notices)),
        Effect.provideService(Workers, list)
      )
      const stateOf = (worker: string) =>
        Effect.sync(() => {
          const found = list.byName.find((it) => it.name === worker)
          return found?.waiting?.for ?? found?.state ?? ""
        })
      yield* until(
        Effect.sync(() => heard.length),
        (count) => count === 1
      )
      yield* until(stateOf("notices"), (state) => state === "up")
      yield* until(stateOf("four"), (state) => state === "up")
      const elsewhere = yield* Layer.build(
        PgClient.layer({
          url: Redacted.make(testDatabaseUrl(inject("testPostgresSocketFolder"), "postgres")),
          maxConnections: 1
        })
      )
      const admin = (statement: string) => Effect.asVoid(Context.get(elsewhere, PgClient.PgClient).unsafe(statement))
      // No new connection; open ones stay.
      yield* Effect.acquireRelease(admin(`alter database "${database}" allow_connections false`), () =>
        Effect.orDie(admin(`alter database "${database}" allow_connections true`))
      )
      yield* breakAll
      yield* until(stateOf("four"), (state) => state === "notifications of other processes")
      yield* until(stateOf("notices"), (state) => state === "a connection to the database")
      assert.isNull(obstacleOf(list.byName))
      yield* admin(`alter database "${database}" allow_connections true`)
      yield* until(stateOf("four"), (state) => state === "up")
      yield* until(stateOf("notices"), (state) => state === "up")
      assert.deepStrictEqual(heard, [null, null])
    }).pipe(Effect.scoped)
  )

  it.effect("use no pooled connection: only Database.ts and Notices.ts take one permanently", () =>
    Effect.sync(() => {
      const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((it) => it.endsWith(".ts"))
      const takers = files.filter((file) => {
        const source = readFileSync(join("src", file), "utf8")
        return source.includes("effect/sql") && /\.reserve\b|(?:sql|client|connection|database)\.listen\(/i.test(source)
      })
      assert.deepStrictEqual(takers.toSorted(), ["store/Database.ts", "store/Notices.ts"])
    })
  )

  it.effect("a pool without a connection beside the permanent ones is refused with a sentence", () =>
    Effect.gen(function* () {
      const { url } = yield* TestDatabase
      const claimWith = (connections: string) =>
        Effect.scoped(
          Layer.build(
            DatabaseClaim.layer.pipe(
              Layer.provide(Layer.fresh(Database.layerOn)),
              Layer.provide([
                DatabaseServer.at(Redacted.make(url)),
                testSettings({ ATOLL_DATABASE_CONNECTIONS: connections })
              ])
            )
          )
        )
      const refused = yield* Effect.flip(claimWith("1"))
      assert.strictEqual(
        refused.message,
        "ATOLL_DATABASE_CONNECTIONS is 1, and of these connections 1 is kept for the claim on the database: none is left for requests. Set it to 2 or more."
      )
      yield* claimWith("2")
    })
  )
})
