/**
 * Writes one archive of a database and its volumes, whether or not the service runs.
 *
 * Images are first read while they are written to, which takes long and blocks no writer. Then all are frozen and the database's snapshot is taken.
 * The changes since the first reading are read image by image, and each image thaws immediately afterwards; so they are of the database's own moment.
 * An image that cannot be read soon thaws before, and is frozen again separately. A virtual machine is paused separately, after the snapshot, because
 * its kernel must first write the data that it holds in memory. No content is older than the snapshot.
 *
 * The images of Sandboxes' snapshots never change, so each is read once, before the volumes.
 */
import { Clock, Effect, Exit, Schema } from "effect"
import { SqlSchema } from "effect/sql"
import { Settings } from "../../Config.ts"
import type { StillVolume } from "../../host/linux/StillVolume.ts"
import { removedStates } from "../../sandbox/sandboxStates.ts"
import { usableSnapshotStates } from "../../snapshot/snapshotStates.ts"
import { textColumn } from "../../store/Columns.ts"
import { MaintenanceDatabase } from "../../store/Database.ts"
import { type ArchiveHeader, ArchiveWriter } from "./Archive.ts"
import { ArchiveUnusable, unusable } from "./ArchiveUnusable.ts"
import type { Progress } from "./Progress.ts"
import { unfinishedRestore } from "./restoreMark.ts"
import { stoppable } from "./stoppable.ts"
import { readRows, tablesOf } from "./tables.ts"
import { type BegunVolume, heldStill, VolumesWriter } from "./VolumesWriter.ts"
import { snapshotsIn, type Volume, volumesIn } from "./volumes.ts"

/** The reading of a frozen volume must start within this time; the reading itself comes on top. */
const frozenMaxMs = 10_000
const freezesAtOnce = 16

const attempt = <A>(act: () => Promise<A>): Effect.Effect<A, ArchiveUnusable> =>
  Effect.tryPromise({ try: act, catch: unusable })

const requireDatabase = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase
  const [found] = yield* sql<{ readonly there: boolean }>`select to_regclass('installation') is not null as there`
  if (found?.there === true) return
  return yield* new ArchiveUnusable({
    message: "There is nothing to back up: Atoll was never started on this database."
  })
})

/** The volumes of a fleet are on several hosts. An older database has no fleet tables. */
const requireOneHost = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase
  const [known] = yield* sql<{ readonly there: boolean }>`select to_regclass('host_promises') is not null as there`
  if (known?.there !== true) return
  const [found] = yield* sql<{ readonly hosts: number }>`
    select count(distinct host_id)::int4 as hosts from host_promises`
  if (found!.hosts === 0) return
  return yield* new ArchiveUnusable({
    message: `The Sandboxes of this database live on ${found!.hosts} hosts of a fleet, whose volumes no single archive has. Take the database by pg_dump, and each host's ATOLL_DATA_DIR as it is once its Sandboxes are stopped: atoll hosts drain HOST, then stop the host.`
  })
})

/** The Sandboxes that have, or may have, a volume. */
const findSandboxes = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () =>
      sql`select id from actors where kind = 'sandbox' and not status = any(${textColumn(removedStates)}::text[])`
  })
  return new Set((yield* find()).map(({ id }) => id))
})

/** The snapshots that Sandboxes can be made of. An older database has none. */
const findSnapshots = Effect.gen(function* () {
  const sql = yield* MaintenanceDatabase
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () =>
      sql`select id from actors where kind = 'snapshot' and status = any(${textColumn(usableSnapshotStates)}::text[])`
  })
  return new Set((yield* find()).map(({ id }) => id))
})

/** Runs in a transaction; its first statement takes the snapshot. */
const findHeader = Effect.gen(function* () {
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
  const { driver, bytes } = yield* findBond()
  const takenAt = yield* Clock.currentTimeMillis
  const steps = (yield* findSteps()).map(({ step }) => step)
  const header: ArchiveHeader = { takenAt, steps, driver }
  return { header, databaseBytes: Number(bytes) }
})

const writeTables = Effect.fnUntraced(function* (writer: ArchiveWriter, databaseBytes: number, progress: Progress) {
  const sql = yield* MaintenanceDatabase
  for (const table of yield* tablesOf(sql)) {
    yield* attempt(() => writer.json("table", table))
    yield* readRows(sql, table, (rows) => {
      const frame = Buffer.from(JSON.stringify(rows))
      writer.counts.rows += rows.length
      writer.counts.rowBytes += frame.length
      progress("database", writer.counts.rowBytes, Math.max(databaseBytes, writer.counts.rowBytes))
      return attempt(() => writer.write("rows", frame))
    })
  }
})

/** Freezes the volume; null when it was deleted. The volume thaws when the scope closes, if not before. */
const frozen = (begun: BegunVolume) =>
  Effect.acquireRelease(
    Effect.map(
      attempt(() => heldStill(begun.volume)),
      (still) => {
        let end: Promise<void> | null = null
        const letGo = () => (end ??= still?.letGo() ?? Promise.resolve())
        return { begun, still: still === null ? null : { isStill: still.isStill, letGo } }
      }
    ),
    ({ still }) => Effect.promise(async () => still?.letGo())
  )

type Frozen = { readonly begun: BegunVolume; readonly still: StillVolume | null }

/** Finishes the volumes one after the other. Returns those that must be held again. */
const finishFrozen = (volumes: VolumesWriter, all: ReadonlyArray<Frozen>) =>
  stoppable(async (signal) => {
    const until = performance.now() + frozenMaxMs
    const left: Array<BegunVolume> = []
    for (const { begun, still } of all) {
      if (still === null) await volumes.forget(begun.volume)
      else {
        if (performance.now() > until || !(await volumes.finish(begun, still, signal))) left.push(begun)
        await still.letGo()
      }
    }
    return left
  })

/** Writes everything except the archive's end. */
const writeAll = Effect.fnUntraced(function* (writer: ArchiveWriter, dataDir: string, progress: Progress) {
  const sql = yield* MaintenanceDatabase
  const volumesOf = (ids: ReadonlySet<string>) => attempt(() => volumesIn(dataDir, ids))
  const early = yield* Effect.flatMap(findSandboxes, volumesOf)
  const volumes = new VolumesWriter(writer, early, progress)
  const begin = (those: ReadonlyArray<Volume>) =>
    Effect.forEach(
      those.flatMap((it) => (it.form === "image" ? [it] : [])),
      (it) => stoppable((signal) => volumes.begin(it, signal))
    )
  const writeSnapshots = (ids: ReadonlySet<string>) =>
    Effect.flatMap(
      attempt(() => snapshotsIn(dataDir, ids)),
      Effect.forEach((it) => stoppable((signal) => volumes.snapshot(it, signal)), { discard: true })
    )
  // Nothing changes these: they need not be read again.
  const earlySnapshots = yield* findSnapshots
  yield* writeSnapshots(earlySnapshots)
  const begun = yield* begin(early)
  // The smallest first, so that most thaw soon.
  const toFreeze = begun
    .filter(({ volume }) => !volume.isPaused)
    .toSorted((a, b) => a.volume.allocatedBytes - b.volume.allocatedBytes)
  yield* sql.withTransaction(
    Effect.gen(function* () {
      yield* sql`set transaction isolation level repeatable read read only`
      const { databaseBytes, ids, left } = yield* Effect.scoped(
        Effect.gen(function* () {
          const all = yield* Effect.forEach(toFreeze, frozen, { concurrency: freezesAtOnce })
          const found = yield* findHeader
          yield* attempt(() => writer.json("header", found.header))
          return { ...found, ids: yield* findSandboxes, left: yield* finishFrozen(volumes, all) }
        })
      )
      // Sandboxes created since the first query, or deleted since then.
      const known = new Set(early.map(({ about }) => about.sandboxId))
      const late = yield* volumesOf(new Set([...ids].filter((id) => !known.has(id))))
      const paused = begun.filter(({ volume }) => volume.isPaused)
      for (const it of [...left, ...paused, ...(yield* begin(late))]) {
        if (ids.has(it.volume.about.sandboxId)) yield* stoppable((signal) => volumes.finishLater(it, signal))
      }
      for (const { volume } of begun) {
        if (!ids.has(volume.about.sandboxId)) yield* attempt(() => volumes.forget(volume))
      }
      for (const it of [...early, ...late]) {
        if (it.form === "tree" && ids.has(it.about.sandboxId)) {
          yield* stoppable((signal) => volumes.tree(it, signal))
        }
      }
      const present = [...(yield* findSnapshots)]
      yield* writeSnapshots(new Set(present.filter((id) => !earlySnapshots.has(id))))
      yield* writeTables(writer, databaseBytes, progress)
    })
  )
  const { later, unheld } = volumes
  return { later, unheld }
})

/** Leaves the complete archive on the disk, or none. Needs the Database and Settings. */
export const backup = Effect.fn("backup")(function* (path: string, progress: Progress) {
  const { dataDir } = yield* Settings
  if (unfinishedRestore(dataDir) !== null) {
    return yield* new ArchiveUnusable({
      message: `A restore into ${dataDir} has not ended yet: there is nothing to back up.`
    })
  }
  yield* requireDatabase
  yield* requireOneHost
  const make = attempt(() => ArchiveWriter.make(path))
  const discard = (writer: ArchiveWriter) => Effect.promise(() => writer.discard())
  return yield* Effect.acquireUseRelease(
    make,
    (writer) =>
      Effect.gen(function* () {
        const { later, unheld } = yield* writeAll(writer, dataDir, progress)
        yield* attempt(() => writer.end())
        return { ...writer.counts, later, unheld }
      }),
    (writer, exit) => (Exit.isSuccess(exit) ? Effect.void : discard(writer))
  )
})
