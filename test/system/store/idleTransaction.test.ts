/** A process that falls silent in the middle of a transaction does not lock a row for long. */
import { assert, layer } from "@effect/vitest"
import { Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Redacted, Schedule } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import { Database, MaintenanceDatabase } from "../../../src/store/Database.ts"
import { isTransient, sqlStateOf, untilServed } from "../../../src/store/DatabaseFault.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { ServiceProcess } from "../../support/crash/ServiceProcess.ts"
import { DatabaseLink } from "../../support/DatabaseLink.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

/** The least that is allowed. */
const brief = { ATOLL_DATABASE_IDLE_TRANSACTION_MS: "1000" }

/** Hours, if nothing ended it. */
const patience = "60 seconds"

layer(TestDatabase.layer, { excludeTestServices: true })("an idle transaction", (it) => {
  it.effect(
    "ends when the network cuts its process off, unless it may rest, and its later statements may be repeated",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { name } = yield* TestDatabase
        yield* sql`create table held (id int4 primary key, times int4 not null)`
        yield* sql`insert into held values (1, 0), (2, 0)`
        const link = yield* DatabaseLink.open()
        const away = yield* Layer.build(
          Layer.fresh(Database.layerOn).pipe(
            Layer.provide([DatabaseServer.at(Redacted.make(link.urlOf(name))), testSettings(brief)])
          )
        )
        const holding = Effect.fnUntraced(function* (client: SqlClient.SqlClient, id: number) {
          const held = yield* Deferred.make<void>()
          const goOn = yield* Deferred.make<void>()
          const more = client`update held set times = times + 1 where id = ${id}`
          const transaction = yield* Effect.forkScoped(
            Effect.andThen(
              Effect.andThen(more, Deferred.succeed(held, undefined)),
              Effect.andThen(Deferred.await(goOn), more)
            ).pipe(client.withTransaction)
          )
          yield* Deferred.await(held)
          return { goOn, transaction, more }
        })
        const one = yield* holding(Context.get(away, SqlClient.SqlClient), 1)
        const maintaining = yield* holding(Context.get(away, MaintenanceDatabase), 2)
        link.silence()
        yield* sql`update held set times = 10 where id = 1`.pipe(Effect.timeout(patience))
        const locked = yield* Effect.flip(sql`select from held where id = 2 for update nowait`)
        assert.strictEqual(sqlStateOf(locked), "55P03")

        link.speak()
        yield* Deferred.succeed(one.goOn, undefined)
        const ended = yield* Fiber.await(one.transaction)
        const fault = Exit.isFailure(ended) ? Cause.squash(ended.cause) : null
        assert.isTrue(SqlError.isSqlError(fault) && isTransient(fault), String(fault))
        yield* Effect.retry(one.more, untilServed)
        yield* Deferred.succeed(maintaining.goOn, undefined)
        yield* Fiber.join(maintaining.transaction)
        assert.deepStrictEqual(yield* sql`select id, times from held order by id`, [
          { id: 1, times: 11 },
          { id: 2, times: 2 }
        ])
      }).pipe(Effect.scoped)
  )

  it.effect(
    "ends when its process is frozen, which later reports an unknown outcome, and applies the repeated request",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { url } = yield* TestDatabase
        const service = yield* Effect.acquireRelease(
          Effect.promise(() => ServiceProcess.make({ DATABASE_URL: url, ...brief })),
          (made) =>
            Effect.promise(async () => {
              await made.kill()
              made.remove()
            })
        )
        yield* Effect.promise(() => service.start())
        const made = yield* Effect.promise(() => service.ask("POST", "/workspaces", { name: "one" }, "w"))
        const { id } = made.body.workspace
        const path = `/workspaces/${id}`
        // Its account's row is locked by then.
        const [removed, backend] = yield* sql
          .withTransaction(
            Effect.gen(function* () {
              yield* sql`select from workspaces where id = ${id} for update`
              const removing = service.ask("DELETE", path)
              const [waiting] = yield* Effect.repeat(
                sql<{ readonly pid: number }>`
                select pid from pg_stat_activity
                where application_name = 'atoll' and wait_event_type = 'Lock' and datname = current_database()`,
                { until: (rows) => rows.length > 0, schedule: Schedule.spaced(20) }
              )
              service.freeze()
              return [removing, waiting!.pid] as const
            })
          )
          .pipe(Effect.timeout(patience))
        const lock = sql`select from accounts for update`
        yield* Effect.timeout(lock, patience)
        assert.deepStrictEqual(yield* sql`select from pg_stat_activity where pid = ${backend}`, [])
        service.thaw()
        const answer = yield* Effect.promise(() => removed)
        assert.deepStrictEqual([answer.status, answer.body.details], [503, { outcome: "unknown" }])
        assert.strictEqual((yield* Effect.promise(() => service.ask("GET", path))).status, 200)
        assert.strictEqual((yield* Effect.promise(() => service.ask("DELETE", path))).status, 204)
        assert.strictEqual((yield* Effect.promise(() => service.ask("GET", path))).status, 404)
      }).pipe(Effect.scoped)
  )
})
