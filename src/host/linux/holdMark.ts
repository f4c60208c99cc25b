/**
 * The mark of a volume that another process than the service reads: `<image>.held` names that process. Whoever would begin to write to the
 * volume, or take it away, waits until that one has let go or is dead.
 */
import { existsSync, statSync } from "node:fs"
import { rm } from "node:fs/promises"
import { setTimeout as sleep } from "node:timers/promises"
import { Option, Schema } from "effect"
import { identify, isAlive } from "./ProcessIdentity.ts"
import { readRecord, WrittenProcess, writeRecord } from "./SandboxRecords.ts"

const POLL_MS = 20

const decode = Schema.decodeUnknownOption(WrittenProcess)

const markOf = (image: string): string => `${image}.held`

/** By this process, from now on. */
export const hold = (image: string): Promise<void> =>
  writeRecord(markOf(image), identify(process.pid), { durable: false })

export const release = (image: string): Promise<void> => rm(markOf(image), { force: true })

export const isHeld = (image: string): boolean => {
  const path = markOf(image)
  if (!existsSync(path)) return false
  const holder = Option.getOrNull(decode(readRecord(path)))
  return holder !== null && isAlive(holder)
}

/** Whoever held it was killed before it let go. */
export const isAbandoned = (image: string): boolean => existsSync(markOf(image)) && !isHeld(image)

/** Tells one holding from another, by the same process too; null when nobody holds it. */
export const holdingOf = (image: string): string | null => {
  if (!isHeld(image)) return null
  const found = statSync(markOf(image), { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.ino}-${found.mtimeNs}`
}

/** Resolves when nobody holds it. */
export const letGo = async (image: string): Promise<void> => {
  while (isHeld(image)) await sleep(POLL_MS)
}
