/**
 * Notes that were answered but are not in the database yet, in a file of the data folder: a killed service loses none of them.
 *
 * One write appends a note before its call is answered. It is not flushed: the kernel keeps the writes of a killed process, and only
 * a crash of the whole machine within a second loses them. Each process has a folder with a lock; the next process of the data folder
 * writes the notes of a dead process to the database. Inserting a note twice changes nothing.
 */

import { randomUUID } from "node:crypto"
import { constants, ftruncateSync, openSync, readdirSync, readFileSync, rmSync, statSync, writeSync } from "node:fs"
import { mkdir, rm } from "node:fs/promises"
import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { Settings } from "../Config.ts"
import { FileLock } from "../platform/fileLock/FileLock.ts"

/** A long outage of the database must not fill the disk. */
const fileMaxBytes = 64 * 1024 * 1024

export interface SpoolFile {
  /** False: the file could not take the note, which is only in memory. */
  readonly append: (note: unknown) => boolean
  /** All notes since the file was last emptied. */
  readonly read: () => ReadonlyArray<unknown>
  /** Empties the file, after all of it is in the database. */
  readonly empty: () => void
  /** Notes of dead processes; `forget` deletes them once they are in the database. */
  readonly left: ReadonlyArray<{ readonly notes: ReadonlyArray<unknown>; readonly forget: () => void }>
}

/** The last line may be torn. */
const notesIn = (path: string): ReadonlyArray<unknown> =>
  readFileSync(path, "utf8")
    .split("\n")
    .flatMap((line) => {
      try {
        return [JSON.parse(line)]
      } catch {
        return []
      }
    })

/** Null where a service has no data folder: then a crash loses unwritten notes. */
export const NoteSpool = Context.Reference<{ readonly open: (name: string) => SpoolFile } | null>(
  "atoll/store/NoteSpool",
  {
    defaultValue: () => null
  }
)

interface Dead {
  readonly folder: string
  readonly lock: FileLock
}

/** Locks every folder of a dead process, so that only one process handles it. */
const deadIn = async (root: string): Promise<ReadonlyArray<Dead>> => {
  const found: Array<Dead> = []
  for (const name of readdirSync(root)) {
    const folder = join(root, name)
    const lock = await FileLock.open(join(folder, "lock")).catch(() => null)
    if (lock === null) continue
    if (await lock.exclusive(0)) found.push({ folder, lock })
    else await lock.close()
  }
  return found
}

const openFile = (folder: string, name: string, dead: ReadonlyArray<Dead>): SpoolFile => {
  const path = join(folder, `${name}.jsonl`)
  const fd = openSync(path, constants.O_CREAT | constants.O_APPEND | constants.O_WRONLY, 0o600)
  let bytes = statSync(path).size
  return {
    append: (note) => {
      if (bytes >= fileMaxBytes) return false
      try {
        bytes += writeSync(fd, `${JSON.stringify(note)}\n`)
        return true
      } catch {
        // The disk is full.
        return false
      }
    },
    read: () => notesIn(path),
    empty: () => {
      if (bytes === 0) return
      ftruncateSync(fd)
      bytes = 0
    },
    left: dead.flatMap(({ folder: theirs }) => {
      const file = join(theirs, `${name}.jsonl`)
      const forget = () => {
        rmSync(file, { force: true })
        // The folder is deleted with its last file.
        if (readdirSync(theirs).every((rest) => rest === "lock")) rmSync(theirs, { recursive: true, force: true })
      }
      try {
        return [{ notes: notesIn(file), forget }]
      } catch {
        return []
      }
    })
  }
}

/** The spool in the data folder. */
export const noteSpool = Layer.effect(
  NoteSpool,
  Effect.gen(function* () {
    const { dataDir } = yield* Settings
    const root = join(dataDir, "spool")
    const folder = join(root, randomUUID())
    const { dead } = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        await mkdir(folder, { recursive: true, mode: 0o700 })
        const own = await FileLock.open(join(folder, "lock"))
        await own.exclusive(0)
        return { lock: own, dead: await deadIn(root) }
      }),
      ({ lock, dead }) =>
        Effect.promise(async () => {
          for (const one of dead) await one.lock.close()
          // An orderly stop has written everything; notes that the database did not take stay for the next process.
          const isEmpty = readdirSync(folder).every((name) => statSync(join(folder, name)).size === 0)
          if (isEmpty) await rm(folder, { recursive: true, force: true })
          await lock.close()
        })
    )
    return { open: (name: string) => openFile(folder, name, dead) }
  })
)
