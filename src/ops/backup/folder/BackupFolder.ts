/**
 * The folder of the backups that the operator's page lists and starts.
 *
 * A backup runs in a separate process, by the code of `atoll backup`: it compresses and hashes all volumes, which would delay the service's
 * requests, and it holds the volumes of running machines by asking whether a service runs besides itself. It goes on when the service
 * restarts. Its record in the folder is its progress, for every process of the service.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, open, readdir, stat, statfs } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { Effect, Redacted, Schema } from "effect"
import {
  type BackupFile,
  type BackupPage,
  type BackupRun,
  backupsShown
} from "../../../../schemas/console/OperatedBackups.ts"
import { Settings } from "../../../Config.ts"
import { isAlive } from "../../../host/linux/ProcessIdentity.ts"
import { isArchive } from "../Archive.ts"
import { type Run, readRun, readVerification } from "./records.ts"

/** `message` is one sentence for the operator. */
export class BackupNotStarted extends Schema.TaggedError<BackupNotStarted>()("BackupNotStarted", {
  message: Schema.String
}) {}

const startsWithinMs = 30_000
const lookEveryMs = 50
/** Of the folder's files, by their names: the last ones. */
const examinedMax = 1_000

const timestamp = (ms: number): string => new Date(ms).toISOString()

const folderOf = ({ backupDir, dataDir }: Settings["Service"]): string => backupDir ?? join(dataDir, "backups")

interface LastRun {
  readonly run: Run
  readonly isRunning: boolean
}

/** Null: there was none. Its process writes how it ended just before it ends, so one that is dead may have written since its record was read. */
export const lastRunIn = (folder: string, isAliveNow: typeof isAlive = isAlive): LastRun | null => {
  const run = readRun(folder)
  if (run === null) return null
  const isRunning = run.endedAt === null && isAliveNow(run.process)
  return { run: isRunning ? run : (readRun(folder) ?? run), isRunning }
}

const shownRun = ({ run, isRunning }: LastRun): BackupRun => {
  const { name, startedAt, endedAt, isDone, progress, said } = run
  const state = isRunning ? "writing" : isDone ? "done" : "failed"
  return {
    name,
    state,
    startedAt: timestamp(startedAt),
    endedAt: endedAt === null ? null : timestamp(endedAt),
    progress: state === "writing" ? progress : null,
    said: state === "writing" ? null : (said ?? `It was killed before it was done: remove ${name}.partial.`)
  }
}

const isName = (name: string): boolean => !name.startsWith(".") && !name.endsWith(".partial")

/** Null: it is no archive, or was removed meanwhile. */
const backupFile = async (folder: string, name: string): Promise<BackupFile | null> => {
  const path = join(folder, name)
  const found = await stat(path).catch(() => null)
  if (found === null || !found.isFile() || !(await isArchive(path).catch(() => false))) return null
  const writtenAt = Math.floor(found.mtimeMs)
  const verified = readVerification(folder, name)
  const isSame = verified !== null && verified.bytes === found.size && verified.writtenAt === writtenAt
  return {
    name,
    bytes: found.size,
    writtenAt: timestamp(writtenAt),
    verifiedAt: isSame ? timestamp(verified.verifiedAt) : null
  }
}

/** Newest first. Files are read one after the other, and not more than `examinedMax`: the setting may name any folder. */
const archivesIn = async (folder: string): Promise<ReadonlyArray<BackupFile>> => {
  const names = (await readdir(folder).catch(() => [])).filter(isName).toSorted().toReversed()
  const found: Array<BackupFile> = []
  for (const name of names.slice(0, examinedMax)) {
    const file = await backupFile(folder, name)
    if (file !== null) found.push(file)
  }
  return found.toSorted((a, b) => b.writtenAt.localeCompare(a.writtenAt))
}

/** The folder as it is: its archives, the room on its disk, and the last run. */
export const backupPage: Effect.Effect<BackupPage, never, Settings> = Effect.flatMap(Settings, (settings) =>
  Effect.promise(async () => {
    const folder = folderOf(settings)
    // Before the archives: those of a run that is over are among them, verified.
    const last = lastRunIn(folder)
    const backups = await archivesIn(folder)
    const disk = await statfs(folder).catch(() => null)
    return {
      folder,
      freeBytes: disk === null ? null : disk.bavail * disk.bsize,
      backups: backups.slice(0, backupsShown),
      count: backups.length,
      lastRun: last === null ? null : shownRun(last)
    }
  })
)

const program = join(import.meta.dirname, "run.ts")

/** Resolves once the process has written its record; throws when it ended before. */
const spawned = async (settings: Settings["Service"], folder: string, name: string): Promise<void> => {
  const { dataDir, databaseUrl, diskReserveBytes } = settings
  const log = await open(join(folder, ".run.log"), "w", 0o600)
  const child = spawn(process.execPath, [program, folder, name], {
    detached: true,
    stdio: ["ignore", log.fd, log.fd],
    env: {
      ...process.env,
      ATOLL_DATA_DIR: dataDir,
      ATOLL_DISK_RESERVE_BYTES: String(diskReserveBytes),
      ...(databaseUrl === null ? {} : { DATABASE_URL: Redacted.value(databaseUrl) })
    }
  })
  await log.close()
  child.unref()
  const ended = once(child, "exit")
  ended.catch(() => {})
  const deadline = performance.now() + startsWithinMs
  while (readRun(folder)?.name !== name) {
    const isOver = (await Promise.race([ended.then(() => true), sleep(lookEveryMs)])) === true
    if (readRun(folder)?.name === name) return
    if (isOver || performance.now() > deadline) {
      throw new BackupNotStarted({ message: `The backup did not start: ${join(folder, ".run.log")} says why.` })
    }
  }
}

/** The name of the archive that is being written when it returns. */
export const startBackup = Effect.fn("startBackup")(function* () {
  const settings = yield* Settings
  const folder = folderOf(settings)
  return yield* Effect.tryPromise({
    try: async () => {
      const last = lastRunIn(folder)
      if (last?.isRunning === true) {
        throw new BackupNotStarted({ message: `A backup is being written already: ${last.run.name}.` })
      }
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const name = `atoll-${new Date().toISOString().replace(/:/g, "-").replace(".", "-")}`
      await spawned(settings, folder, name)
      return name
    },
    catch: (cause) =>
      cause instanceof BackupNotStarted
        ? cause
        : new BackupNotStarted({ message: `${folder} cannot be used for backups: ${(cause as Error).message}.` })
  })
})
