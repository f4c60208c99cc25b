/**
 * Binds the database and the data folder to each other. The service destroys machines and volumes that the database does not know,
 * and reports Sandboxes without a machine as lost. So a start with the wrong pair must end before it looks for any.
 *
 * The folder stores the database's id (`installation`) and the folder's id (`host`), which the database stores, too.
 */
import { hostname } from "node:os"
import { resolve } from "node:path"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { DataFolder } from "../platform/dataFolder/DataFolder.ts"
import { textColumn } from "./Columns.ts"
import { DatabaseUnusable } from "./Database.ts"
import { claimHolders } from "./DatabaseClaim.ts"
import { beginFleet, endFleet, type FleetStates } from "./fleetBond.ts"

const Bond = Schema.Struct({
  id: Schema.String,
  driver: Schema.NullOr(Schema.String),
  is_fleet: Schema.Boolean,
  host_id: Schema.NullOr(Schema.String),
  host_label: Schema.NullOr(Schema.String),
  /** Processes that use this database, this one included. */
  processes: Schema.Int
})

/** Only for a start in another folder: where all of a million Sandboxes are removed, this reads every one of them. */
const anySandbox = (sql: SqlClient.SqlClient, removedStates: ReadonlyArray<string>) =>
  Effect.map(
    sql<{ readonly id: string }>`
      select id from actors where kind = 'sandbox' and status <> all(${textColumn(removedStates)}::text[]) limit 1`,
    (found) => found.length > 0
  )

export class Installation extends Context.Service<
  Installation,
  {
    /** The runtime driver of the Sandboxes that exist; null before the first. */
    readonly driver: string | null
    /** This data folder's id; null for a service of a fleet, which keeps no Sandboxes in its folder. */
    readonly host: string | null
    /** Whether the Sandboxes of the database still belong to this folder: the operator may have moved them to another one. */
    readonly isOurs: Effect.Effect<boolean>
  }
>()("atoll/store/Installation") {
  /**
   * Binds a new data folder. Fails with a sentence if the folder belongs to another database, or the database to another folder. Needs the DatabaseClaim.
   *
   * @param removedStates States of a Sandbox that has nothing on any host.
   */
  static readonly layer = (removedStates: ReadonlyArray<string>) =>
    Layer.effect(
      Installation,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { dataDir, lostHost } = yield* Settings
        const folder = resolve(dataDir)
        const label = `${folder} of ${hostname()}`
        const inFolder = <A>(act: () => Promise<A>) =>
          Effect.tryPromise({
            try: act,
            catch: (cause) =>
              new DatabaseUnusable({
                message: `The data folder ${folder} cannot be used: ${String(cause)}. Correct ATOLL_DATA_DIR or its permissions.`
              })
          })
        const before = yield* inFolder(async () => {
          await DataFolder.make(folder)
          return DataFolder.installation(folder)
        })

        const refusal = (bond: typeof Bond.Type) => {
          const where = bond.host_label === null ? "another data folder" : `the data folder ${bond.host_label}`
          const lost =
            bond.host_id === null
              ? ""
              : ` If that folder is gone for good, stop every Atoll of this database and start once with ATOLL_LOST_HOST=${bond.host_id}: its Sandboxes are then stopped, and their volumes are empty.`
          return new DatabaseUnusable({
            message: `The Sandboxes of this database live in ${where}, and here, with ${label}, they would be taken for lost. Set ATOLL_DATA_DIR to that folder, or DATABASE_URL to another database.${lost}`
          })
        }

        const findBond = SqlSchema.findOne({
          Request: Schema.Void,
          Result: Bond,
          execute: () => sql`
          select id, driver, is_fleet, host_id, host_label, ${claimHolders(sql)} as processes
          from installation`
        })

        const findHost = SqlSchema.findOne({
          Request: Schema.Void,
          Result: Schema.Struct({ host_id: Schema.NullOr(Schema.String) }),
          execute: () => sql`select host_id from installation`
        })

        const { host, bond } = yield* Effect.gen(function* () {
          // Another process that starts concurrently waits for this row.
          yield* sql`select 1 from installation for update`
          const bond = yield* findBond()
          if (before !== null && before !== bond.id) {
            return yield* new DatabaseUnusable({
              message: `The data folder ${folder} belongs to another database, whose Sandboxes would be destroyed here as unknown. Set DATABASE_URL to that database, or ATOLL_DATA_DIR to another folder.`
            })
          }
          const host = yield* inFolder(() => DataFolder.host(folder))
          if (bond.is_fleet) yield* endFleet(sql, host)
          const { host_id: bound, processes } = bond
          if (bound !== host) {
            const hasSandboxes = yield* anySandbox(sql, removedStates)
            const isFree =
              // Older databases do not store their folder's id; the folder stores the database's.
              bound === null
                ? before !== null || !hasSandboxes
                : processes <= 1 && (!hasSandboxes || bound === lostHost)
            if (!isFree) return yield* refusal(bond)
          }
          yield* sql`update installation set host_id = ${host}, host_label = ${label}
                   where host_id is distinct from ${host} or host_label is distinct from ${label}`
          yield* inFolder(() => DataFolder.bind(folder, bond.id))
          return { host, bond }
        }).pipe(sql.withTransaction, Effect.catchTag(["SqlError", "SchemaError", "NoSuchElementError"], Effect.die))

        return Installation.of({
          driver: bond.driver,
          host,
          isOurs: Effect.suspend(() => findHost()).pipe(
            Effect.map(({ host_id }) => host_id === host),
            Effect.orDie
          )
        })
      })
    )

  /**
   * For a service whose Sandboxes live on hosts: binds no data folder. Sandboxes that an Atoll of the role `all` kept in its data
   * folder belong to that host from now on. Needs the DatabaseClaim.
   */
  static readonly ofFleet = (states: FleetStates) =>
    Layer.effect(
      Installation,
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql.withTransaction(beginFleet(sql, states)).pipe(Effect.orDie)
        return Installation.of({ driver: null, host: null, isOurs: Effect.succeed(false) })
      })
    )
}
