/**
 * Restores an archive into an empty data folder and an empty database.
 *
 * The result is another installation: the folder and the database get new ids, and no running process is taken over. So the original, which may run
 * beside it, is never touched. Sandboxes that ran when the archive was taken are reported to their own machines as ended at that time.
 */

import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import { join } from "node:path"
import { Effect, Layer, References, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { noteInstallation } from "../../account/OperatorAudit.ts"
import { Atoll } from "../../app/Atoll.ts"
import { alone } from "../../app/Service.ts"
import { Settings } from "../../Config.ts"
import { ActorCluster } from "../../engine/ActorCluster.ts"
import { GuestUnavailable } from "../../runtime/Guest.ts"
import { Runtime, RuntimeUnavailable } from "../../runtime/Runtime.ts"
import { inhabitedStates } from "../../sandbox/sandboxStates.ts"
import { settleSandboxes } from "../../sandbox/settleSandboxes.ts"
import { textColumn } from "../../store/Columns.ts"
import { Database, MaintenanceDatabase } from "../../store/Database.ts"
import { DatabaseClaim } from "../../store/DatabaseClaim.ts"
import { migrate, migrations } from "../../store/Migrations.ts"
import {
  ArchivedAgain,
  ArchivedSnapshot,
  ArchivedTable,
  ArchivedVolume,
  type ArchiveHeader,
  type Frame,
  framesOf
} from "./Archive.ts"
import { ArchiveUnusable, unusable } from "./ArchiveUnusable.ts"
import type { Progress } from "./Progress.ts"
import { RestoredVolume } from "./RestoredVolume.ts"
import { beginRestore, endRestore, unfinishedRestore } from "./restoreMark.ts"
import { requireRoom } from "./room.ts"
import { emptyTables, moveSequences, openTable, tablesOf } from "./tables.ts"
import { parseFrame, verifyArchive } from "./verifyArchive.ts"

/** Rows take more space in tables, with indexes and WAL. A new embedded Postgres takes a base amount. */
const databaseFactor = 4
const databaseBaseBytes = 256 * 1024 ** 2

const attempt = <A>(act: () => Promise<A>): Effect.Effect<A, ArchiveUnusable> =>
  Effect.tryPromise({ try: act, catch: unusable })

/**
 * Requires an empty folder, or one where a restore of the same archive was interrupted.
 *
 * @param sha256 Null while it is unknown.
 */
const requireEmpty = async (dataDir: string, sha256: string | null): Promise<void> => {
  const found = await readdir(dataDir).catch((cause: NodeJS.ErrnoException): Array<string> => {
    if (cause.code === "ENOENT") return []
    throw cause
  })
  if (found.length === 0) return
  const unfinished = unfinishedRestore(dataDir)
  if (unfinished?.isAlive === true) {
    throw new ArchiveUnusable({ message: `Another restore into ${dataDir} is going on just now.` })
  }
  if (unfinished !== null && (sha256 === null || unfinished.sha256 === sha256)) return
  throw new ArchiveUnusable({
    message:
      unfinished === null
        ? `${dataDir} is not empty${found.includes("host") ? ": an Atoll lives in it" : ""}. Set ATOLL_DATA_DIR to a new folder; the original is never written over.`
        : `${dataDir} is what is left of a restore of another archive: repeat that one, or set ATOLL_DATA_DIR to a new folder.`
  })
}

/** Whether the database and the folder belong together already: a restore was interrupted after both were filled. */
const isLoaded = Effect.fnUntraced(function* (dataDir: string) {
  const sql = yield* MaintenanceDatabase
  const id = yield* attempt(() => readFile(join(dataDir, "installation"), "utf8").catch(() => null))
  const [found] = yield* sql<{ readonly there: boolean }>`select to_regclass('installation') is not null as there`
  if (id === null || found?.there !== true) return false
  const [row] = yield* sql<{ readonly id: string }>`select id from installation`
  return row?.id === id.trim()
})

const requireEmptyDatabase = Effect.fnUntraced(function* () {
  const sql = yield* MaintenanceDatabase
  const [found] = yield* sql<{ readonly count: number }>`
    select count(*)::int4 as count from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace`
  if (found?.count !== 0) {
    return yield* new ArchiveUnusable({
      message: "The database is not empty: an Atoll lives in it, perhaps. Name an empty one with DATABASE_URL."
    })
  }
})

/** The second reading: loads the database, in the open transaction, and the folder. */
const load = Effect.fnUntraced(function* (
  path: string,
  dataDir: string,
  header: ArchiveHeader,
  progress: Progress,
  all: number
) {
  const sql = yield* MaintenanceDatabase
  const steps = Object.entries(migrations).filter(([name]) => header.steps.includes(Number(name.slice(0, 4))))
  yield* migrate(Object.fromEntries(steps)).pipe(Effect.provideService(SqlClient.SqlClient, sql))
  const here = yield* tablesOf(sql)
  yield* emptyTables(sql, here)
  const frames = framesOf(path)
  let insert: ((rows: unknown) => Effect.Effect<unknown, unknown>) | null = null
  let volume: RestoredVolume | null = null
  yield* Effect.addFinalizer(() => Effect.promise(async () => volume?.close().catch(() => {})))
  let done = 0
  for (let next = yield* attempt(() => frames.next()); next.done !== true; next = yield* attempt(() => frames.next())) {
    const frame: Frame = next.value
    done += frame.bytes.length
    progress("restored", Math.min(done, all), all)
    switch (frame.kind) {
      case "table": {
        const table = parseFrame(ArchivedTable, frame)
        if (!here.some(({ name }) => name === table.name)) {
          return yield* new ArchiveUnusable({
            message: `The archive has a table that this Atoll does not know: ${table.name}.`
          })
        }
        insert = yield* openTable(sql, table)
        break
      }
      case "rows":
        yield* insert!(textColumn(JSON.parse(frame.bytes.toString())))
        break
      case "volume":
        yield* attempt(async () => {
          await volume?.close()
          volume = await RestoredVolume.make(dataDir, parseFrame(ArchivedVolume, frame))
        })
        break
      case "snapshot":
        yield* attempt(async () => {
          await volume?.close()
          volume = await RestoredVolume.ofSnapshot(dataDir, parseFrame(ArchivedSnapshot, frame))
        })
        break
      case "again":
        yield* attempt(async () => {
          await volume?.close()
          volume = await RestoredVolume.again(dataDir, parseFrame(ArchivedAgain, frame))
        })
        break
      case "gone":
        yield* attempt(async () => {
          await volume?.close()
          volume = null
          await RestoredVolume.remove(dataDir, parseFrame(ArchivedAgain, frame))
        })
        break
      case "piece":
        yield* attempt(() => volume!.put(Number(frame.bytes.readBigUInt64LE(0)), frame.bytes.subarray(8)))
        break
    }
  }
  yield* attempt(async () => {
    await volume?.close()
    volume = null
  })
  yield* moveSequences(sql)
  // Until here the rows of an older Atoll have that version's schema.
  yield* migrate(migrations).pipe(Effect.provideService(SqlClient.SqlClient, sql))
})

/** Gives the folder and the database new ids, by which they belong together. */
const rename = Effect.fnUntraced(function* (dataDir: string) {
  const sql = yield* MaintenanceDatabase
  const host = `host_${randomBytes(12).toString("hex")}`
  const label = `${dataDir} of ${hostname()}`
  const [made] = yield* sql<{ readonly id: string }>`
    update installation set id = replace(gen_random_uuid()::text, '-', ''), host_id = ${host}, host_label = ${label} returning id`
  // Its order of commits differs, on every server.
  yield* sql`update transition_eras set server = 'restored'`
  yield* attempt(async () => {
    await writeFile(join(dataDir, "host"), `${host}\n`)
    await writeFile(join(dataDir, "installation"), `${made!.id}\n`)
  })
})

const notStarted = Effect.fail(new RuntimeUnavailable({ message: "Nothing was started yet." }))

/** A Runtime in which nothing runs and nothing starts: pending work waits for the first start. */
const nothingRuns = Layer.succeed(
  Runtime,
  Runtime.of({
    driver: "simulated",
    kind: "namespace",
    capabilities: {
      suspend: false,
      memorySnapshots: false,
      networkFiltered: false,
      networkRefused: () => null,
      statements: []
    },
    provision: () => Effect.never,
    stop: () => Effect.void,
    destroy: () => Effect.never,
    resize: () => Effect.never,
    suspend: () => Effect.never,
    snapshots: {
      capture: () => Effect.never,
      restore: () => Effect.never,
      read: () => notStarted,
      receive: () => notStarted,
      accept: () => Effect.never,
      remove: () => Effect.never,
      inventory: notStarted
    },
    images: {
      pull: () => Effect.never,
      receive: () => notStarted,
      accept: () => Effect.never,
      discard: () => Effect.never,
      uploads: notStarted,
      read: () => notStarted,
      store: () => notStarted,
      remove: () => Effect.never,
      inventory: notStarted,
      isAble: Effect.never,
      buildObstacle: Effect.never
    },
    inventory: notStarted,
    guest: () => Effect.fail(new GuestUnavailable({ message: "Nothing was started yet." })),
    connect: () => Effect.fail(new GuestUnavailable({ message: "Nothing was started yet." })),
    sample: () => notStarted,
    downs: Stream.never,
    stalls: Stream.never,
    console: Stream.never
  })
)

const tellEnds = ({ takenAt }: ArchiveHeader) => {
  const reason = {
    code: "RESTORED",
    message: publicText`It was restored from a backup of ${new Date(takenAt)}, in which it ran or slept. A backup has its volume, and not its memory.`
  }
  return settleSandboxes(inhabitedStates, (generation) => ({
    type: "RUNTIME_DOWN",
    generation,
    reason,
    seenAt: takenAt
  })).pipe(
    Effect.provide(
      Atoll.layer().pipe(
        Layer.provideMerge(nothingRuns),
        Layer.provide(ActorCluster.layerSingle),
        Layer.provide(alone)
      ),
      { local: true }
    ),
    // Guests that do not answer are expected here.
    Effect.provideService(References.MinimumLogLevel, "Error")
  )
}

const removeVolumes = (dataDir: string): Promise<void> => rm(join(dataDir, "runtime"), { recursive: true, force: true })

const removeAll = async (dataDir: string): Promise<void> => {
  for (const name of await readdir(dataDir).catch(() => [])) {
    await rm(join(dataDir, name), { recursive: true, force: true })
  }
}

/**
 * A failed restore leaves nothing, unless the database was already filled: then it must be repeated, like one that was killed.
 *
 * @param bytes The archive's own size. Needs Settings.
 */
export const restore = Effect.fn("restore")(function* (path: string, bytes: number, progress: Progress) {
  const { dataDir, databaseUrl, role } = yield* Settings
  if (role !== "all") {
    return yield* new ArchiveUnusable({
      message: `ATOLL_ROLE=${role}: a backup becomes a database and the data folder that belongs to it. Restore it with ATOLL_ROLE=all; a fleet goes on from there when services are started on that database and a host on that folder.`
    })
  }
  yield* attempt(() => requireEmpty(dataDir, null))
  const { header, end } = yield* attempt(() => verifyArchive(path, progress, bytes))
  yield* attempt(() => requireEmpty(dataDir, end.sha256))
  const isEmbedded = databaseUrl === null
  const needed = end.pieceBytes + (isEmbedded ? end.rowBytes * databaseFactor + databaseBaseBytes : 0)
  yield* attempt(async () => {
    await mkdir(dataDir, { recursive: true })
    if (!existsSync(join(dataDir, "installation"))) {
      await removeVolumes(dataDir)
      await requireRoom(dataDir, needed)
    }
    await beginRestore(dataDir, end.sha256)
  })
  let isFilled = false
  const stopped = yield* Effect.gen(function* () {
    const sql = yield* MaintenanceDatabase
    isFilled = yield* isLoaded(dataDir)
    if (!isFilled) {
      yield* attempt(() => removeVolumes(dataDir))
      yield* requireEmptyDatabase()
      yield* sql.withTransaction(
        Effect.scoped(load(path, dataDir, header, progress, end.rowBytes + end.pieceBytes)).pipe(
          Effect.andThen(rename(dataDir)),
          Effect.andThen(Effect.provideService(noteInstallation("restoreBackup", path, 201), SqlClient.SqlClient, sql))
        )
      )
      isFilled = true
    }
    const stopped = yield* tellEnds(header)
    yield* attempt(() => endRestore(dataDir))
    return stopped
  }).pipe(
    // The caller may already have a database; this must use its own.
    Effect.provide(DatabaseClaim.layer.pipe(Layer.provideMerge(Database.layer)), { local: true }),
    Effect.onError(() => Effect.promise(async () => (isFilled ? undefined : removeAll(dataDir))))
  )
  return { ...end, takenAt: header.takenAt, stopped }
})
