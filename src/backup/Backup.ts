/**
 * Writes one archive of a database and its volumes, while the service runs or not.
 *
 * The database is read in one snapshot; then each volume, held still for as long as it is read: a Sandbox that runs waits with its writes, and
 * goes on. A volume is of its own moment, never of before the snapshot.
 */
import { Clock, Effect, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { removedStates } from "../sandbox/sandboxStates.ts"
import { textColumn } from "../store/Columns.ts"
import { MaintenanceDatabase } from "../store/Database.ts"
import { type ArchiveHeader, ArchiveWriter } from "./Archive.ts"
import { ArchiveUnusable, unusable } from "./ArchiveUnusable.ts"
import { readRows, tablesOf } from "./tables.ts"
import { type Volume, volumesIn } from "./volumes.ts"

/** What is told while it goes on: bytes of `what` that are done, of all of them. */
export type Progress = (what: string, done: number, all: number) => void

const attempt = <A>(act: () => Promise<A>): Effect.Effect<A, ArchiveUnusable> =>
  Effect.tryPromise({ try: act, catch: unusable })

const writeDatabase = Effect.fnUntraced(function* (writer: ArchiveWriter, progress: Progress) {
  const sql = yield* MaintenanceDatabase
  const findBond = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ driver: Schema.NullOr(Schema.String), bytes: Schema.BigInt }),
    execute: () => sql`select driver, pg_database_size(current_database())::int8 as bytes from installation`
  })
  const findSteps = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ step: Schema.Int }),
    execute: () => sql`select migration_id as step from atoll_migrations order by migration_id`
  })
  const findSandboxes = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () =>
      sql`select id from actors where kind = 'sandbox' and not status = any(${textColumn(removedStates)}::text[])`
  })
  const isThere = yield* sql<{ readonly there: boolean }>`select to_regclass('installation') is not null as there`
  if (isThere[0]?.there !== true) {
    return yield* new ArchiveUnusable({
      message: "There is nothing to back up: Atoll was never started on this database."
    })
  }
  return yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set transaction isolation level repeatable read read only`
      const { driver, bytes } = yield* findBond()
      const steps = (yield* findSteps()).map(({ step }) => step)
      const takenAt = yield* Clock.currentTimeMillis
      const header: ArchiveHeader = { takenAt, steps, driver }
      yield* attempt(() => writer.json("header", header))
      for (const table of yield* tablesOf(sql)) {
        yield* attempt(() => writer.json("table", table))
        yield* readRows(sql, table, (rows) => {
          const frame = Buffer.from(JSON.stringify(rows))
          writer.counts.rows += rows.length
          writer.counts.rowBytes += frame.length
          progress("database", writer.counts.rowBytes, Math.max(Number(bytes), writer.counts.rowBytes))
          return attempt(() => writer.write("rows", frame))
        })
      }
      return new Set((yield* findSandboxes()).map(({ id }) => id))
    })
  )
})

const writeVolumes = async (writer: ArchiveWriter, volumes: ReadonlyArray<Volume>, progress: Progress) => {
  const all = volumes.reduce((sum, { allocatedBytes }) => sum + allocatedBytes, 0)
  for (const { about, read } of volumes) {
    const before = writer.counts.pieceBytes
    await read(
      async () => {
        writer.counts.pieceBytes = before
        await writer.json("volume", about)
      },
      async (offset, bytes) => {
        const at = Buffer.alloc(8)
        at.writeBigUInt64LE(BigInt(offset))
        writer.counts.pieceBytes += bytes.length
        progress("volumes", writer.counts.pieceBytes, Math.max(all, writer.counts.pieceBytes))
        await writer.write("piece", Buffer.concat([at, bytes]))
      }
    )
    writer.counts.volumes += 1
  }
}

/** The archive is there, whole and on the disk, or it is not there. Needs the Database and Settings. */
export const backup = Effect.fn("backup")(function* (path: string, progress: Progress) {
  const { dataDir } = yield* Settings
  const writer = yield* attempt(() => ArchiveWriter.make(path))
  return yield* Effect.gen(function* () {
    const sandboxIds = yield* writeDatabase(writer, progress)
    yield* attempt(async () => {
      const volumes = await volumesIn(dataDir, sandboxIds)
      await writeVolumes(writer, volumes, progress)
      await writer.end()
    })
    return writer.counts
  }).pipe(Effect.onError(() => Effect.promise(() => writer.discard())))
})
