/**
 * The connections to Postgres: one pool for everything, and a small one of its own for the journal, so that commits
 * never queue behind queries.
 *
 * @source design.md "Data"; lab.md "Planner trap" (force_generic_plan), "Durable transitions" (two connections)
 */
import { PgClient } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Redacted, Schedule, Schema } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlError } from "effect/sql"
import { Settings } from "../Config.ts"
import { DatabaseServer } from "./DatabaseServer.ts"

const oldestMajor = 14
const connectTimeout = Duration.seconds(5)

/** The database cannot serve Atoll. `message` is a sentence for the operator, without any secret. */
export class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  message: Schema.String
}) {}

/** The journal's connections: every commit of transitions goes through them, and nothing else. */
export class JournalDatabase extends Context.Service<JournalDatabase, PgClient.PgClient>()(
  "atoll/store/JournalDatabase"
) {}

/**
 * The connections that store command output. They do not wait for the disk: the journal's later commit of the outcome flushes
 * everything written before it on the same server, so a `completed` operation's output is as durable as its status.
 */
export class OutputDatabase extends Context.Service<OutputDatabase, PgClient.PgClient>()(
  "atoll/store/OutputDatabase"
) {}

const outputConnections = 2

interface PoolOptions {
  readonly applicationName: string
  readonly connectionsMax: number
  readonly startupParameters: Readonly<Record<string, string>>
}

const pool = ({ applicationName, connectionsMax, startupParameters }: PoolOptions) =>
  Effect.flatMap(DatabaseServer, ({ connect }) =>
    PgClient.make({
      ...connect,
      applicationName,
      connectTimeout,
      maxConnections: connectionsMax,
      idleTimeout: "60 seconds",
      startupParameters
    })
  ).pipe(Effect.provide(Reactivity.layer), Effect.orDie)

/** What went wrong, in the words of whoever noticed: the server, or the system call. */
const reasonOf = (error: SqlError.SqlError): string => {
  const cause = error.reason.cause
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause
  const text = inner instanceof Error ? inner.message : String(inner)
  return text || (error.reason.message ?? error.reason._tag)
}

/** 57P03: the server is starting up, shutting down or recovering. */
const worthWaiting = (error: SqlError.SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /starting up|shutting down|recovery mode/.test(reasonOf(error))

const probe = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { label } = yield* DatabaseServer
  const [found] = yield* sql<{ version: number; encoding: string; standby: boolean }>`
    select current_setting('server_version_num')::int4 as version,
           current_setting('server_encoding') as encoding,
           pg_is_in_recovery() as standby`
  const refuse = (problem: string) => new DatabaseUnusable({ message: `The database, ${label}, ${problem}` })
  if (found === undefined) return yield* refuse("did not answer a query.")
  if (found.version < oldestMajor * 10_000) {
    return yield* refuse(`is Postgres ${Math.floor(found.version / 10_000)}; Atoll needs ${oldestMajor} or newer.`)
  }
  if (found.encoding !== "UTF8") {
    return yield* refuse(`has the encoding ${found.encoding}; create one with encoding 'UTF8'.`)
  }
  if (found.standby) return yield* refuse("is a read-only standby; name the primary.")
})

/** Waits up to ATOLL_DATABASE_WAIT_MS for a database that does not answer, then makes sure that it will do. */
const ready = Effect.gen(function* () {
  const { databaseWaitMs } = yield* Settings
  const { connect, label } = yield* DatabaseServer
  if (connect.url !== undefined && !/^postgres(ql)?:$/.test(URL.parse(Redacted.value(connect.url))?.protocol ?? "")) {
    return yield* new DatabaseUnusable({
      message: "DATABASE_URL must look like postgres://user:password@host:5432/database."
    })
  }
  yield* probe.pipe(
    Effect.tapError((error) =>
      error._tag === "SqlError" ? Effect.logDebug(`Waiting for ${label}: ${reasonOf(error)}`) : Effect.void
    ),
    Effect.retry({
      schedule: Schedule.max([Schedule.spaced("250 millis"), Schedule.during(databaseWaitMs)]),
      while: (error) => error._tag === "SqlError" && worthWaiting(error)
    }),
    Effect.catchTag("SqlError", (error) =>
      Effect.fail(
        new DatabaseUnusable({
          message: worthWaiting(error)
            ? `The database, ${label}, cannot be reached (waited ${Math.round(databaseWaitMs / 1000)} s): ${reasonOf(error)}. Start it, or correct DATABASE_URL.`
            : `The database, ${label}, refused the connection: ${reasonOf(error)}. Correct DATABASE_URL or the server's permissions.`
        })
      )
    )
  )
})

const pools = Layer.effectContext(
  Effect.gen(function* () {
    const { databaseConnections, journalConnections } = yield* Settings
    const client = yield* pool({
      applicationName: "atoll",
      connectionsMax: databaseConnections,
      startupParameters: {}
    })
    const journal = yield* pool({
      applicationName: "atoll-journal",
      connectionsMax: journalConnections,
      startupParameters: { plan_cache_mode: "force_generic_plan" }
    })
    const output = yield* pool({
      applicationName: "atoll-output",
      connectionsMax: outputConnections,
      startupParameters: { synchronous_commit: "off", plan_cache_mode: "force_generic_plan" }
    })
    return Context.make(PgClient.PgClient, client).pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(JournalDatabase, journal),
      Context.add(OutputDatabase, output)
    )
  })
)

export const Database = {
  /** Both pools on a database that answers. Nothing is migrated: see Migrations.ts. */
  layer: Layer.effectDiscard(ready).pipe(Layer.provideMerge(pools), Layer.provideMerge(DatabaseServer.layer)),
  /** The same on a server chosen by the caller. */
  layerOn: Layer.effectDiscard(ready).pipe(Layer.provideMerge(pools))
}
