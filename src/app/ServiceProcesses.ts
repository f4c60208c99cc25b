/**
 * The processes that serve a data folder: a file for each in `<data>/service/`, so that a command can find and end them. The file of a
 * killed process names a dead process.
 */
import { mkdir, readdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Layer, Option, Schema } from "effect"
import { Settings } from "../Config.ts"
import { goneWithin, identify, isAlive, type ProcessIdentity, signal } from "../host/linux/ProcessIdentity.ts"
import { readRecord, WrittenProcess, writeRecord } from "../host/linux/SandboxRecords.ts"
import { folderSentence } from "../platform/dataFolder/folderSentence.ts"
import { refuseForeignSandboxes } from "../platform/dataFolder/foreignSandboxes.ts"

const decode = Schema.decodeUnknownOption(WrittenProcess)

/** Longer than the time limit of a stop (`Launch.ts`). */
const endWithinMs = 35_000

const folderOf = (dataDir: string): string => join(dataDir, "service")

const serving = async (dataDir: string): Promise<ReadonlyArray<ProcessIdentity>> => {
  const names = await readdir(folderOf(dataDir)).catch(() => [])
  return names.flatMap((name) => {
    const it = Option.getOrNull(decode(readRecord(join(folderOf(dataDir), name))))
    return it !== null && it.pid !== process.pid && isAlive(it) ? [it] : []
  })
}

/** Whether another process serves this folder. */
export const isServed = async (dataDir: string): Promise<boolean> => (await serving(dataDir)).length > 0

/** `message` is one or two sentences for the operator. */
export class DataFolderUnusable extends Schema.TaggedError<DataFolderUnusable>()("DataFolderUnusable", {
  message: Schema.String
}) {}

export const ServiceProcesses = {
  /** Registers this process while it serves. Fails if the data folder is not writable. */
  layer: Layer.effectDiscard(
    Effect.gen(function* () {
      const { dataDir } = yield* Settings
      const folder = folderOf(dataDir)
      const own = identify(process.pid)!
      const path = join(folder, `${own.pid}-${own.startTime}.json`)
      yield* Effect.acquireRelease(
        Effect.tryPromise({
          try: async () => {
            await refuseForeignSandboxes(dataDir)
            await mkdir(folder, { recursive: true, mode: 0o700 })
            await writeRecord(path, own, { durable: false })
          },
          catch: (cause) => new DataFolderUnusable({ message: folderSentence(dataDir, cause) })
        }),
        () => Effect.promise(() => rm(path, { force: true }))
      )
    })
  ),

  /**
   * Stops every process that serves this data folder, like Ctrl-C, and waits for their ends.
   *
   * @returns How many have ended, and the pids of the others.
   */
  end: async (dataDir: string): Promise<{ readonly ended: number; readonly alive: ReadonlyArray<number> }> => {
    const found = await serving(dataDir)
    for (const it of found) signal(it, "SIGTERM")
    await goneWithin(() => found.some(isAlive), endWithinMs)
    const alive = found.filter(isAlive).map(({ pid }) => pid)
    return { ended: found.length - alive.length, alive }
  }
}
