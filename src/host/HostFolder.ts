/** A host's data folder: creates it if it is missing, and locks it for one process. */
import { existsSync } from "node:fs"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Schema } from "effect"
import { Settings } from "../Config.ts"
import { DataFolder } from "../platform/dataFolder/DataFolder.ts"
import { folderSentence } from "../platform/dataFolder/folderSentence.ts"
import { refuseForeignSandboxes } from "../platform/dataFolder/foreignSandboxes.ts"
import { FileLock } from "../platform/fileLock/FileLock.ts"
import { sandboxIdsIn } from "./linux/SandboxRecords.ts"
import { isPoolClosed } from "./linux/volumePool.ts"

/** The previous process may still be ending. */
const waitSeconds = 10

/** The folder cannot be used. `message` is one sentence. */
export class HostFolderUnusable extends Schema.TaggedError<HostFolderUnusable>()("HostFolderUnusable", {
  message: Schema.String
}) {}

const unusable = (message: string) => new HostFolderUnusable({ message })

/** The driver whose Sandboxes are in the folder; null when there are none. A pool is removed with its last Sandbox, so one that is not mounted has some. */
export const presentDriver = (dataDir: string): string | null =>
  ["qemu", "namespace"].find((driver) => {
    const folder = join(dataDir, "runtime", driver)
    return isPoolClosed(folder) || sandboxIdsIn(folder).length > 0
  }) ?? null

export const HostFolder = {
  /** Needs Settings. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { dataDir } = yield* Settings
      const inFolder = <A>(act: () => Promise<A>) =>
        Effect.tryPromise({
          try: act,
          catch: (cause) => unusable(folderSentence(dataDir, cause))
        })
      const lock = yield* Effect.acquireRelease(
        inFolder(async () => {
          await DataFolder.make(dataDir)
          await refuseForeignSandboxes(dataDir)
          await mkdir(join(dataDir, "service"), { recursive: true, mode: 0o700 })
          return FileLock.open(join(dataDir, "service", "lock"))
        }),
        (lock) => Effect.promise(() => lock.close())
      )
      if (existsSync(join(dataDir, "restoring"))) {
        return yield* unusable(
          `A restore into ${dataDir} has not ended: wait for it, or repeat it (atoll restore FILE), which goes on with it.`
        )
      }
      if (!(yield* inFolder(() => lock.exclusive(waitSeconds)))) {
        return yield* unusable(
          `Another host process uses the data folder ${dataDir}. Stop it, or set ATOLL_DATA_DIR to another folder.`
        )
      }
    })
  )
}
