/** `atoll backup FILE` and `atoll restore FILE` */
import { existsSync } from "node:fs"
import { stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { noteInstallation } from "../account/OperatorAudit.ts"
import { Settings } from "../Config.ts"
import { Refused } from "../console/server/operating/refusals.ts"
import type { Progress } from "../ops/backup/Progress.ts"
import { Database } from "../store/Database.ts"
import { answer, remark } from "./answer.ts"

const tellEveryMs = 1_000

const mebibytes = (bytes: number): string => `${Math.ceil(bytes / 1024 ** 2)} MiB`

/** A progress line on stderr from time to time; none for a short task. */
const telling = (): Progress => {
  let toldAt = performance.now()
  return (what, done, all) => {
    if (performance.now() - toldAt < tellEveryMs) return
    toldAt = performance.now()
    process.stderr.write(`atoll: ${what}: ${mebibytes(done)} of ${mebibytes(all)}\n`)
  }
}

const file = Argument.String("file").pipe(Argument.withDescription("The archive"))

export const backup = Command.make(
  "backup",
  { file },
  Effect.fnUntraced(function* ({ file }) {
    const path = resolve(file)
    const { dataDir, databaseUrl } = yield* Settings
    if (databaseUrl === null && !existsSync(join(dataDir, "postgres/data"))) {
      return yield* new Refused({
        message: `There is nothing to back up in ${dataDir}: Atoll was never started there.`
      })
    }
    const { backup: takeBackup } = yield* Effect.promise(() => import("../ops/backup/Backup.ts"))
    const { rows, volumes, snapshots, later, unheld } = yield* Effect.andThen(
      noteInstallation("startBackup", path, 201),
      takeBackup(path, telling())
    ).pipe(Effect.provide(Database.layer))
    if (unheld.length > 0) {
      yield* remark(
        `could not pause ${unheld.join(", ")}, as is usual without root: each of its files has the state of the moment in which it was read`
      )
    }
    const { size } = yield* Effect.promise(() => stat(path))
    yield* answer(`${path} has ${rows} rows, ${volumes} volumes and ${snapshots} snapshots in ${mebibytes(size)}.`, {
      file: path,
      bytes: size,
      rows,
      volumes,
      snapshots,
      later,
      unheld
    })
  })
).pipe(
  Command.withDescription("Write the database, all volumes and all snapshots to a new file, while Atoll runs or not")
)

export const restore = Command.make(
  "restore",
  { file },
  Effect.fnUntraced(function* ({ file }) {
    const path = resolve(file)
    const { dataDir } = yield* Settings
    const found = yield* Effect.tryPromise({
      try: () => stat(path),
      catch: (cause) => new Refused({ message: `${path} cannot be read: ${(cause as Error).message}.` })
    })
    // Loads the whole service, which no other command needs.
    const { restore: restoreBackup } = yield* Effect.promise(() => import("../ops/backup/Restore.ts"))
    const { rows, volumes, snapshots = 0, stopped, takenAt } = yield* restoreBackup(path, found.size, telling())
    yield* remark("the restored installation is independent: the original, wherever it is, continues without it")
    yield* answer(
      `${dataDir} has the state of ${new Date(takenAt).toISOString()}: ${rows} rows, ${volumes} volumes, ${snapshots} snapshots. ${stopped} Sandboxes that ran are stopped.`,
      { dataDir, takenAt: new Date(takenAt).toISOString(), rows, volumes, snapshots, stopped }
    )
  })
).pipe(Command.withDescription("Make a new data folder (ATOLL_DATA_DIR), and fill an empty database, from a backup"))
