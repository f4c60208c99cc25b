/**
 * The process of a backup that the operator's page started: writes the archive, reads it again, and records both.
 *
 *     node run.ts FOLDER NAME
 */
import { stat, statfs } from "node:fs/promises"
import { setPriority } from "node:os"
import { join } from "node:path"
import { runMain } from "@effect/platform-node/NodeRuntime"
import { Cause, Clock, Effect, Exit, Schedule } from "effect"
import { Settings } from "../../../Config.ts"
import { identify } from "../../../host/linux/ProcessIdentity.ts"
import { FileLock } from "../../../platform/fileLock/FileLock.ts"
import { Database } from "../../../store/Database.ts"
import { ArchiveUnusable, unusable } from "../ArchiveUnusable.ts"
import { backup } from "../Backup.ts"
import type { Progress } from "../Progress.ts"
import { verifyArchive } from "../verifyArchive.ts"
import { type Run, writeRun, writeVerification } from "./records.ts"

/** Below the service's, whose requests come first. */
const niceness = 10
const mebibyte = 1024 ** 2

const attempt = <A>(act: () => Promise<A>) => Effect.tryPromise({ try: act, catch: unusable })

/** Fails when the disk becomes so full that the service would refuse Sandboxes. */
const enoughRoom = (folder: string, reserveBytes: number) =>
  Effect.gen(function* () {
    const { bavail, bsize } = yield* attempt(() => statfs(folder))
    if (bavail * bsize >= reserveBytes) return
    return yield* new ArchiveUnusable({
      message: `The disk of ${folder} has less than the ${Math.ceil(reserveBytes / mebibyte)} MiB that ATOLL_DISK_RESERVE_BYTES keeps free: remove old backups, or set ATOLL_BACKUP_DIR to another disk. The partial archive is removed.`
    })
  })

/** Writes the archive and reads it again; the sentence says what it has. */
const written = Effect.fnUntraced(function* (folder: string, name: string, progress: Progress) {
  const path = join(folder, name)
  const { rows, volumes, snapshots, unheld } = yield* backup(path, progress).pipe(Effect.provide(Database.layer))
  const { size, mtimeMs } = yield* attempt(() => stat(path))
  yield* attempt(() => verifyArchive(path, progress, size))
  const verifiedAt = yield* Clock.currentTimeMillis
  yield* attempt(() => writeVerification(folder, name, { bytes: size, writtenAt: Math.floor(mtimeMs), verifiedAt }))
  return [
    `${path} has ${rows} rows, ${volumes} volumes and ${snapshots} snapshots in ${Math.ceil(size / mebibyte)} MiB, and was verified.`,
    ...(unheld.length === 0
      ? []
      : [
          `${unheld.join(", ")} could not be paused: each of its files has the state of the moment in which it was read.`
        ])
  ].join(" ")
})

/** Why there is no archive. */
const reasonOf = (cause: Cause.Cause<unknown>): string => {
  if (Cause.hasInterruptsOnly(cause)) return "It was ended before it was done. The partial archive is removed."
  const fault = Cause.squash(cause)
  return fault instanceof Error && fault.message !== "" ? fault.message : Cause.pretty(cause)
}

const main = Effect.gen(function* () {
  const [folder, name] = process.argv.slice(2) as [string, string]
  setPriority(niceness)
  const lock = yield* Effect.acquireRelease(
    attempt(() => FileLock.open(join(folder, ".lock"))),
    (held) => Effect.promise(() => held.close())
  )
  if (!(yield* attempt(() => lock.exclusive(0)))) {
    return yield* new ArchiveUnusable({ message: `Another backup is being written into ${folder}.` })
  }
  const { diskReserveBytes } = yield* Settings
  let run: Run = {
    process: identify(process.pid)!,
    name,
    startedAt: yield* Clock.currentTimeMillis,
    endedAt: null,
    isDone: false,
    progress: null,
    said: null
  }
  yield* attempt(() => writeRun(folder, run))
  const progress: Progress = (what, doneBytes, allBytes) => {
    run = { ...run, progress: { what, doneBytes, allBytes } }
  }
  const watch = Effect.andThen(
    enoughRoom(folder, diskReserveBytes),
    attempt(() => writeRun(folder, run))
  ).pipe(Effect.repeat(Schedule.spaced("1 second")), Effect.andThen(Effect.never))
  const ended = (exit: Exit.Exit<string, unknown>) =>
    Effect.flatMap(Clock.currentTimeMillis, (endedAt) =>
      Effect.promise(() =>
        writeRun(folder, {
          ...run,
          endedAt,
          isDone: Exit.isSuccess(exit),
          said: Exit.isSuccess(exit) ? exit.value : reasonOf(exit.cause)
        })
      )
    )
  yield* Effect.raceFirst(written(folder, name, progress), watch).pipe(Effect.onExit(ended))
})

main.pipe(Effect.scoped, Effect.provide(Settings.layer), runMain())
