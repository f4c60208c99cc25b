/**
 * Marks a data folder that is being restored: `<data>/restoring` names the process and the archive. The leftovers of a killed restore are not an
 * installation, even if they look like one.
 */
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Option, Schema } from "effect"
import { Settings } from "../../Config.ts"
import { identify, isAlive } from "../../host/linux/ProcessIdentity.ts"
import { readRecord, WrittenProcess, writeRecord } from "../../host/linux/SandboxRecords.ts"
import { DatabaseUnusable } from "../../store/Database.ts"

const Mark = Schema.Struct({
  process: WrittenProcess,
  /** The archive's own checksum. */
  sha256: Schema.String
})

const decode = Schema.decodeUnknownOption(Mark)

const pathOf = (dataDir: string): string => join(dataDir, "restoring")

export interface UnfinishedRestore {
  readonly isAlive: boolean
  /** Null where it cannot be read. */
  readonly sha256: string | null
}

/** Null when no restore was started, or it has completed. */
export const unfinishedRestore = (dataDir: string): UnfinishedRestore | null => {
  if (!existsSync(pathOf(dataDir))) return null
  const mark = Option.getOrNull(decode(readRecord(pathOf(dataDir))))
  return { isAlive: mark !== null && isAlive(mark.process), sha256: mark?.sha256 ?? null }
}

export const beginRestore = (dataDir: string, sha256: string): Promise<void> =>
  writeRecord(pathOf(dataDir), { process: identify(process.pid), sha256 }, { durable: true })

export const endRestore = (dataDir: string): Promise<void> => rm(pathOf(dataDir), { force: true })

/** Fails in a folder with an incomplete or running restore. */
export const noUnfinishedRestore: Layer.Layer<never, DatabaseUnusable, Settings> = Layer.effectDiscard(
  Effect.gen(function* () {
    const { dataDir } = yield* Settings
    const found = unfinishedRestore(dataDir)
    if (found === null) return
    return yield* new DatabaseUnusable({
      message: found.isAlive
        ? `A backup is being restored into ${dataDir} just now: wait until that has ended.`
        : `A restore into ${dataDir} was ended before all was done: repeat it (atoll restore FILE), which goes on with it.`
    })
  })
)
