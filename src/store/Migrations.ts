/**
 * The database's schema, step by step. A start applies the missing steps; several processes may start concurrently.
 *
 * To add a step: write `migrations/NNNN_name.ts` (default export: an Effect that uses SqlClient) and name it here.
 * A step that was released is never changed and never renumbered.
 */
import { Effect, Layer, Schema } from "effect"
import { Migrator, SqlClient, SqlSchema } from "effect/sql"
import { DatabaseUnusable, MaintenanceDatabase } from "./Database.ts"
import actors from "./migrations/0001_actors.ts"
import accounts from "./migrations/0002_accounts.ts"
import output from "./migrations/0003_output.ts"
import executions from "./migrations/0004_executions.ts"
import telemetry from "./migrations/0005_telemetry.ts"
import serverKeys from "./migrations/0006_server_keys.ts"
import installation from "./migrations/0010_installation.ts"
import audit from "./migrations/0011_audit.ts"
import outputTotals from "./migrations/0012_output_totals.ts"
import derivedColumns from "./migrations/0013_derived_columns.ts"
import ages from "./migrations/0014_ages.ts"
import host from "./migrations/0018_host.ts"
import leases from "./migrations/0019_leases.ts"
import sealings from "./migrations/0021_sealings.ts"
import startKeys from "./migrations/0024_start_keys.ts"
import sandboxUses from "./migrations/0025_sandbox_uses.ts"
import plainColumns from "./migrations/0026_plain_columns.ts"
import money from "./migrations/0030_money.ts"
import auditFields from "./migrations/0031_audit_fields.ts"
import keyExpiry from "./migrations/0032_key_expiry.ts"
import heartbeat from "./migrations/0033_heartbeat.ts"
import usageHours from "./migrations/0034_usage_hours.ts"
import firstWallets from "./migrations/0036_first_wallets.ts"
import consoleTables from "./migrations/0037_console.ts"
import transitionPositions from "./migrations/0038_transition_positions.ts"
import tickets from "./migrations/0039_tickets.ts"
import declinedEvents from "./migrations/0040_declined_events.ts"
import operationStarts from "./migrations/0041_operation_starts.ts"
import stillPending from "./migrations/0042_still_pending.ts"
import sandboxEnvs from "./migrations/0043_sandbox_envs.ts"
import fleet from "./migrations/0044_fleet.ts"
import fleetBond from "./migrations/0045_fleet_bond.ts"
import hostKeys from "./migrations/0046_host_keys.ts"
import heldPlaces from "./migrations/0047_held_places.ts"
import firstBoots from "./migrations/0048_first_boots.ts"
import hostNames from "./migrations/0049_host_names.ts"
import bootFailures from "./migrations/0050_boot_failures.ts"
import dueAndAlive from "./migrations/0051_due_and_alive.ts"
import operatorSessions from "./migrations/0052_operator_sessions.ts"
import reached from "./migrations/0054_reached.ts"
import generations from "./migrations/0055_generations.ts"
import auditOfAll from "./migrations/0056_audit_of_all.ts"
import openActors from "./migrations/0057_open_actors.ts"
import soleClaims from "./migrations/0058_sole_claims.ts"
import snapshots from "./migrations/0059_snapshots.ts"
import sizes from "./migrations/0060_sizes.ts"
import snapshotCosts from "./migrations/0061_snapshot_costs.ts"
import images from "./migrations/0062_images.ts"
import sandboxRollbacks from "./migrations/0063_sandbox_rollbacks.ts"
import fleetImages from "./migrations/0064_fleet_images.ts"
import snapshotCopies from "./migrations/0065_snapshot_copies.ts"
import fleetUploads from "./migrations/0066_fleet_uploads.ts"
import fleetBuilds from "./migrations/0068_fleet_builds.ts"
import buildLeases from "./migrations/0069_build_leases.ts"

export const migrations: MigrationRecord = {
  "0001_actors": actors,
  "0002_accounts": accounts,
  "0003_output": output,
  "0004_executions": executions,
  "0005_telemetry": telemetry,
  "0006_server_keys": serverKeys,
  "0010_installation": installation,
  "0011_audit": audit,
  "0012_output_totals": outputTotals,
  "0013_derived_columns": derivedColumns,
  "0014_ages": ages,
  "0018_host": host,
  "0019_leases": leases,
  "0021_sealings": sealings,
  "0024_start_keys": startKeys,
  "0025_sandbox_uses": sandboxUses,
  "0026_plain_columns": plainColumns,
  "0030_money": money,
  "0031_audit_fields": auditFields,
  "0032_key_expiry": keyExpiry,
  "0033_heartbeat": heartbeat,
  "0034_usage_hours": usageHours,
  "0036_first_wallets": firstWallets,
  "0037_console": consoleTables,
  "0038_transition_positions": transitionPositions,
  "0039_tickets": tickets,
  "0040_declined_events": declinedEvents,
  "0041_operation_starts": operationStarts,
  "0042_still_pending": stillPending,
  "0043_sandbox_envs": sandboxEnvs,
  "0044_fleet": fleet,
  "0045_fleet_bond": fleetBond,
  "0046_host_keys": hostKeys,
  "0047_held_places": heldPlaces,
  "0048_first_boots": firstBoots,
  "0049_host_names": hostNames,
  "0050_boot_failures": bootFailures,
  "0051_due_and_alive": dueAndAlive,
  "0052_operator_sessions": operatorSessions,
  "0054_reached": reached,
  "0055_generations": generations,
  "0056_audit_of_all": auditOfAll,
  "0057_open_actors": openActors,
  "0058_sole_claims": soleClaims,
  "0059_snapshots": snapshots,
  "0060_sizes": sizes,
  "0061_snapshot_costs": snapshotCosts,
  "0062_images": images,
  "0063_sandbox_rollbacks": sandboxRollbacks,
  "0064_fleet_images": fleetImages,
  "0065_snapshot_copies": snapshotCopies,
  "0066_fleet_uploads": fleetUploads,
  "0068_fleet_builds": fleetBuilds,
  "0069_build_leases": buildLeases
}

export type MigrationRecord = Readonly<Record<string, Effect.Effect<unknown, unknown, SqlClient.SqlClient>>>

const table = "atoll_migrations"

/** The advisory lock's number, unique in the database: "atoll" in ASCII. */
const lockKey = "418380508268"

const idOf = (name: string): number => Number(name.slice(0, 4))

/** Refuses a database that newer code has migrated, or in which a step was skipped: that step would be missing for ever. */
const refuseForeignHistory = (record: MigrationRecord, applied: ReadonlySet<number>) =>
  Effect.gen(function* () {
    const known = Object.keys(record).map(idOf)
    const newest = Math.max(0, ...applied)
    const unknown = [...applied].filter((id) => !known.includes(id))
    if (unknown.length > 0) {
      return yield* new DatabaseUnusable({
        message: `The database was shaped by a newer Atoll (its step ${Math.max(...unknown)} is unknown here). Start that version, or restore a backup.`
      })
    }
    const skipped = known.filter((id) => id < newest && !applied.has(id))
    if (skipped.length > 0) {
      return yield* new DatabaseUnusable({
        message: `The database lacks the migration ${skipped[0]}, yet has later ones. It was made by another line of development; start with a fresh database.`
      })
    }
  })

/**
 * Applies the missing steps, in order, all in one transaction, while other processes wait.
 *
 * @returns The names of the applied steps, as `0001_actors`.
 */
export const migrate = Effect.fn("Migrations.migrate")(function* (record: MigrationRecord) {
  const sql = yield* SqlClient.SqlClient
  const findApplied = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ migration_id: Schema.Int }),
    execute: () => sql`select migration_id from ${sql(table)}`
  })
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`select pg_advisory_xact_lock(${lockKey}::bigint)`
      // The Migrator creates this table itself, but outside our transaction, where two concurrent processes would collide.
      yield* sql`create table if not exists ${sql(table)} (
        migration_id integer primary key,
        created_at timestamptz not null default now(),
        name text not null
      )`
      const rows = yield* findApplied().pipe(Effect.catchTag("SchemaError", Effect.die))
      yield* refuseForeignHistory(record, new Set(rows.map((row) => row.migration_id)))
      const applied = yield* Migrator.make({})({ loader: Migrator.fromRecord({ ...record }), table })
      return applied.map(([id, name]) => `${String(id).padStart(4, "0")}_${name}`)
    })
  )
})

const unusable = (message: string) => new DatabaseUnusable({ message: `The database cannot be migrated: ${message}` })

export const Migrations = {
  /** Migrates the database before anything that depends on it. */
  layer: Layer.effectDiscard(
    Effect.flatMap(MaintenanceDatabase, (sql) =>
      // A step may take minutes in one statement.
      Effect.provideService(migrate(migrations), SqlClient.SqlClient, sql)
    ).pipe(
      Effect.tap((applied) =>
        applied.length === 0 ? Effect.void : Effect.logDebug(`Migrated: ${applied.join(", ")}`)
      ),
      Effect.catchTag(["SqlError", "MigrationError"], (error) => Effect.fail(unusable(error.message))),
      Effect.catchDefect((defect) =>
        defect instanceof Migrator.MigrationError ? Effect.fail(unusable(describe(defect))) : Effect.die(defect)
      )
    )
  )
}

const describe = (error: Migrator.MigrationError): string =>
  error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
