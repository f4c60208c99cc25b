/**
 * The connections to Postgres: one pool for requests, and small separate pools. The journal has its own, so that commits
 * never queue behind queries.
 *
 * @source design.md "Data"; lab.md "Planner trap" (force_generic_plan), "Durable transitions" (two connections)
 */
import type { Duplex } from "node:stream"
import { PgClient, PgConnection } from "@effect/sql-pg"
import { Context, Duration, Effect, Layer, Metric, Option, Redacted, Schedule, Schema, type Scope } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { measuredGauge } from "../platform/metric/measured.ts"
import { worker } from "../platform/worker/Worker.ts"
import { reasonOf, sqlStateOf } from "./DatabaseFault.ts"
import { DatabaseServer } from "./DatabaseServer.ts"
import { DatabaseSockets } from "./DatabaseSockets.ts"
import { DatabaseWatch, databaseWatch } from "./DatabaseWatch.ts"
import { Notices, notices } from "./Notices.ts"
import { briefTransactions, noticingDeath } from "./sessionParameters.ts"

const oldestMajor = 14
const connectTimeout = Duration.seconds(5)

/** The database cannot serve Atoll. `message` is a sentence for the operator, without any secret. */
export class DatabaseUnusable extends Schema.TaggedError<DatabaseUnusable>()("DatabaseUnusable", {
  message: Schema.String
}) {}

/** The journal's connections: they commit transitions, insert actors and load them. Creations with a quota use their own transaction. */
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

/**
 * The connections for statements that may take minutes: migrations, backups and retention. Their transactions may be idle for as long.
 */
export class MaintenanceDatabase extends Context.Service<MaintenanceDatabase, PgClient.PgClient>()(
  "atoll/store/MaintenanceDatabase"
) {}

/** Reserves connections of the request pool for the life of the process. */
export class KeptConnections extends Context.Service<
  KeptConnections,
  {
    /**
     * Registers a permanent user of a connection and returns the effect that acquires it. Fails if the pool would have none left for requests.
     *
     * @param user Purpose of the connection, for the operator.
     */
    readonly keep: (
      user: string
    ) => Effect.Effect<Effect.Effect<SqlConnection.Connection, SqlError.SqlError, Scope.Scope>, DatabaseUnusable>
  }
>()("atoll/store/KeptConnections") {}

/**
 * The connections that read committed transitions for event streams. An index has these rows in the wanted order. A plan that was made while the
 * table was small must not bypass that index later.
 */
export class EventsDatabase extends Context.Service<EventsDatabase, PgClient.PgClient>()(
  "atoll/store/EventsDatabase"
) {}

const outputConnections = 2
const eventsConnections = 2
const maintenanceConnections = 2
const keepAliveMs = 15_000

/** How long a statement may wait for its answer while the server answers others. */
const silenceMaxSeconds = { brief: 15, client: 30, maintenance: Number.POSITIVE_INFINITY }

const openNow = (pool: string) =>
  Metric.gauge("atoll_database_connections_open", {
    description: "Connections to the database that are open, by pool.",
    attributes: { pool }
  })

const busyNow = (pool: string) =>
  Metric.gauge("atoll_database_connections_busy", {
    description: "Connections to the database that wait for an answer, by pool. Connections with TLS are not counted.",
    attributes: { pool }
  })

const mostEver = (pool: string) =>
  Metric.gauge("atoll_database_connections_max", {
    description: "Most connections to the database, by pool. Further queries wait.",
    attributes: { pool }
  })

const servesNowGauge = Metric.gauge("atoll_database_up", {
  description: "1 while the database answers this process and takes changes, else 0."
})

/** The name of the pool: `NAME` of `atoll-NAME`, `requests` of `atoll`. */
const poolNamed = (applicationName: string): string => applicationName.replace(/^atoll-?/, "") || "requests"

interface PoolOptions {
  readonly applicationName: string
  readonly connectionsMax: number
  readonly startupParameters: Readonly<Record<string, string>>
  readonly sockets: DatabaseSockets
  /** Makes a socket for the pool of this name. */
  readonly open: (pool: string) => Duplex
}

/** Options of every connection, and the gauges of its pool. */
const connecting = ({ applicationName, connectionsMax, startupParameters, sockets, open }: PoolOptions) =>
  Effect.gen(function* () {
    const { connect } = yield* DatabaseServer
    const name = poolNamed(applicationName)
    yield* measuredGauge(openNow(name), () => sockets.countOf(name).open)
    yield* measuredGauge(busyNow(name), () => sockets.countOf(name).busy)
    yield* measuredGauge(mostEver(name), () => connectionsMax)
    return {
      ...connect,
      stream: () => open(name),
      applicationName,
      connectTimeout,
      // JIT compilation takes longer than any of our statements runs. The embedded server has it off, too.
      startupParameters: { jit: "off", ...startupParameters }
    }
  })

const pool = (options: PoolOptions) =>
  Effect.flatMap(connecting(options), (made) =>
    PgClient.make({ ...made, maxConnections: options.connectionsMax, idleTimeout: "60 seconds" })
  ).pipe(Effect.provide(Reactivity.layer), Effect.orDie)

/** The reservations of the request pool. */
const keptOf = (client: PgClient.PgClient, connectionsMax: number): KeptConnections["Service"] => {
  const users = new Set<string>()
  return {
    keep: (user) =>
      Effect.suspend(() => {
        users.add(user)
        if (users.size < connectionsMax) return Effect.succeed(client.reserve)
        const kept = `${users.size} ${users.size === 1 ? "is" : "are"} kept for ${[...users].join(", ")}`
        return Effect.fail(
          new DatabaseUnusable({
            message: `ATOLL_DATABASE_CONNECTIONS is ${connectionsMax}, and of these connections ${kept}: none is left for requests. Set it to ${users.size + 1} or more.`
          })
        )
      })
  }
}

/** During the start: waits for a server that starts, recovers, stops or is full, but not for a database that does not exist. */
const worthWaiting = (error: SqlError.SqlError): boolean =>
  error.reason._tag === "ConnectionError" || /^(53|57)/.test(sqlStateOf(error) ?? "")

const probe = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { label } = yield* DatabaseServer
  const ask = SqlSchema.findOneOption({
    Request: Schema.Void,
    Result: Schema.Struct({ version: Schema.Int, encoding: Schema.String, standby: Schema.Boolean }),
    execute: () => sql`
      select current_setting('server_version_num')::int4 as version,
             current_setting('server_encoding') as encoding,
             pg_is_in_recovery() as standby`
  })
  const refuse = (problem: string) => new DatabaseUnusable({ message: `The database, ${label}, ${problem}` })
  const answer = yield* ask().pipe(Effect.catchTag("SchemaError", () => refuse("did not answer a query.")))
  if (Option.isNone(answer)) return yield* refuse("did not answer a query.")
  const found = answer.value
  if (found.version < oldestMajor * 10_000) {
    return yield* refuse(`is Postgres ${Math.floor(found.version / 10_000)}; Atoll needs ${oldestMajor} or newer.`)
  }
  if (found.encoding !== "UTF8") {
    return yield* refuse(`has the encoding ${found.encoding}; create one with encoding 'UTF8'.`)
  }
  if (found.standby) return yield* refuse("is a read-only standby; name the primary.")
})

/** Waits up to ATOLL_DATABASE_WAIT_MS until the database answers, then checks that it is suitable. */
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

/** Fails while the database does not answer or is read-only. */
const servesNow = (client: SqlClient.SqlClient) =>
  Effect.flatMap(
    client<{ readonly read_only: boolean }>`select current_setting('transaction_read_only')::bool as read_only`,
    ([row]) =>
      row?.read_only === true
        ? Effect.fail(
            new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: new Error("it is read-only") }) })
          )
        : Effect.void
  )

const pools = Layer.effectContext(
  Effect.gen(function* () {
    const { databaseConnections, databaseIdleTransactionMs, databasePatienceMs, journalConnections } = yield* Settings
    const brief = briefTransactions(databaseIdleTransactionMs)
    const sockets = new DatabaseSockets((yield* DatabaseServer).connect)
    const client = yield* pool({
      applicationName: "atoll",
      connectionsMax: databaseConnections,
      startupParameters: brief,
      sockets,
      open: sockets.open(silenceMaxSeconds.client)
    })
    const journal = yield* pool({
      applicationName: "atoll-journal",
      connectionsMax: journalConnections,
      startupParameters: { ...brief, plan_cache_mode: "force_generic_plan" },
      sockets,
      open: sockets.open(silenceMaxSeconds.brief)
    })
    const output = yield* pool({
      applicationName: "atoll-output",
      connectionsMax: outputConnections,
      startupParameters: { ...brief, synchronous_commit: "off", plan_cache_mode: "force_generic_plan" },
      sockets,
      open: sockets.open(silenceMaxSeconds.brief)
    })
    const events = yield* pool({
      applicationName: "atoll-events",
      connectionsMax: eventsConnections,
      startupParameters: {
        ...brief,
        plan_cache_mode: "force_generic_plan",
        enable_seqscan: "off",
        enable_bitmapscan: "off"
      },
      sockets,
      open: sockets.open(silenceMaxSeconds.client)
    })
    const maintenance = yield* pool({
      applicationName: "atoll-maintenance",
      connectionsMax: maintenanceConnections,
      startupParameters: noticingDeath,
      sockets,
      open: sockets.open(silenceMaxSeconds.maintenance)
    })
    const watching = yield* pool({
      applicationName: "atoll-watch",
      connectionsMax: 1,
      startupParameters: brief,
      sockets,
      open: sockets.openAnyway
    })
    const { watch, loops } = yield* databaseWatch(servesNow(watching), sockets, databasePatienceMs)
    const noticing = yield* connecting({
      applicationName: "atoll-notices",
      connectionsMax: 1,
      startupParameters: brief,
      sockets,
      // The connection may be silent for days. Only keep-alive finds a dead peer.
      open: (name) => sockets.open(silenceMaxSeconds.client)(name).setKeepAlive(true, keepAliveMs)
    })
    yield* measuredGauge(servesNowGauge, () => (watch.serves() ? 1 : 0))
    yield* worker("database watch", loops.look)
    yield* worker("database patience", loops.patience)
    return Context.make(PgClient.PgClient, client).pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(JournalDatabase, journal),
      Context.add(OutputDatabase, output),
      Context.add(EventsDatabase, events),
      Context.add(MaintenanceDatabase, maintenance),
      Context.add(KeptConnections, keptOf(client, databaseConnections)),
      Context.add(Notices, yield* notices(PgConnection.make(noticing), watch)),
      Context.add(DatabaseWatch, watch)
    )
  })
)

export const Database = {
  /** All pools, on a database that answers. Migrations.ts does the migrations. */
  layer: Layer.effectDiscard(ready).pipe(Layer.provideMerge(pools), Layer.provideMerge(DatabaseServer.layer)),
  /** The same, on a server that the caller chooses. */
  layerOn: Layer.effectDiscard(ready).pipe(Layer.provideMerge(pools))
}
