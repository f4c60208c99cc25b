/** A migrated database on a private server, which the test may kill, freeze, fill and restart. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { PgClient } from "@effect/sql-pg"
import { Context, Effect, Layer, Schedule, type Scope } from "effect"
import type { SqlError } from "effect/sql"
import { childrenOf } from "../../src/host/linux/ProcessIdentity.ts"
import { EmbeddedPostgres } from "../../src/ops/postgres/EmbeddedPostgres.ts"
import { Database } from "../../src/store/Database.ts"
import { isTransient } from "../../src/store/DatabaseFault.ts"
import { DatabaseServer } from "../../src/store/DatabaseServer.ts"
import { Migrations } from "../../src/store/Migrations.ts"
import { signalPid } from "./signalPid.ts"
import { testSettings } from "./TestSettings.ts"
import { testFolder } from "./testFolder.ts"

export class OwnPostgres extends Context.Service<
  OwnPostgres,
  {
    /** To the server itself and all of its backends. */
    readonly signalAll: (signal: NodeJS.Signals) => Effect.Effect<void>
    /** To one backend, by its application name. */
    readonly signalBackend: (applicationName: string, signal: NodeJS.Signals) => Effect.Effect<void>
    /** Freezes an idle backend: a frozen one keeps its locks from all others. */
    readonly freezeBackend: (applicationName: string) => Effect.Effect<void>
    /** As the superuser, on a connection that the service does not have. */
    readonly admin: (statement: string) => Effect.Effect<ReadonlyArray<object>>
    /** Takes all connections, the service's too, until the scope closes. Returns the error of the next connection. */
    readonly takeAllConnections: Effect.Effect<SqlError.SqlError, never, Scope.Scope>
    readonly pid: Effect.Effect<number>
  }
>()("atoll/test/OwnPostgres") {
  static readonly layer = Layer.effectContext(
    Effect.gen(function* () {
      const folder = yield* testFolder
      const server = yield* Layer.build(EmbeddedPostgres.at({ home: join(folder, "postgres"), durable: true }))
      const postgres = Context.get(server, EmbeddedPostgres)
      const connect = { path: postgres.socketPath, username: postgres.username, database: "postgres" }
      const admin = (statement: string) =>
        Effect.flatMap(PgClient.PgClient, (sql) => sql.unsafe<object>(statement)).pipe(
          Effect.provide(PgClient.layer({ ...connect, maxConnections: 1 })),
          Effect.retry({ while: isTransient, times: 2000, schedule: Schedule.spaced(50) }),
          Effect.orDie
        )
      const database = yield* Layer.build(
        Migrations.layer.pipe(
          Layer.provideMerge(Database.layerOn),
          Layer.provideMerge(DatabaseServer.embedded),
          Layer.provide([Layer.succeedContext(server), testSettings()])
        )
      )
      return Context.add(database, OwnPostgres, {
        admin,
        pid: postgres.pid,
        signalAll: (signal) =>
          Effect.map(postgres.pid, (pid) => {
            for (const one of [pid, ...childrenOf(pid)]) signalPid(one, signal)
          }),
        signalBackend: (applicationName, signal) =>
          Effect.map(
            admin(`select pid from pg_stat_activity where application_name = '${applicationName}' limit 1`),
            ([row]) => void process.kill((row as { pid: number }).pid, signal)
          ),
        freezeBackend: (applicationName) =>
          Effect.gen(function* () {
            while (true) {
              const [row] = yield* admin(
                `select pid from pg_stat_activity where application_name = '${applicationName}' limit 1`
              )
              const { pid } = row as { pid: number }
              process.kill(pid, "SIGSTOP")
              while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) yield* Effect.sleep(5)
              // Its title says what it was doing, and cannot change any more.
              if (/ idle\s*$/.test(readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " "))) return
              process.kill(pid, "SIGCONT")
              yield* Effect.sleep(20)
            }
          }),
        takeAllConnections: Effect.gen(function* () {
          const scope = yield* Effect.scope
          const take = Layer.buildWithScope(PgClient.layer({ ...connect, maxConnections: 1 }), scope).pipe(
            Effect.flatMap((context) => Effect.asVoid(Context.get(context, PgClient.PgClient)`select 1`))
          )
          const takeAll = Effect.flip(Effect.forever(take))
          const client = yield* Layer.build(PgClient.layer({ ...connect, maxConnections: 1 }))
          yield* Context.get(client, PgClient.PgClient)`select 1`
          // The service's connections are taken as soon as they are free, unless it is faster: then again.
          while (true) {
            const refused = yield* takeAll
            const ended = yield* Context.get(client, PgClient.PgClient)`
              select pg_terminate_backend(pid) from pg_stat_activity
              where application_name like 'atoll%' and application_name <> 'atoll-watch'`
            if (ended.length === 0) return refused
          }
        }).pipe(Effect.orDie)
      })
    })
  )
}
