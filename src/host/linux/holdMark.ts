/**
 * Marks a volume that a process other than the service reads: `<image>.held` names that process. Before the service writes to the volume or removes
 * it, it waits until that process releases the mark or dies.
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

/** Marks the volume as held by this process. */
export const hold = (image: string): Promise<void> =>
  writeRecord(markOf(image), identify(process.pid), { durable: false })

export const release = (image: string): Promise<void> => rm(markOf(image), { force: true })

export const isHeld = (image: string): boolean => {
  const path = markOf(image)
  if (!existsSync(path)) return false
  const holder = Option.getOrNull(decode(readRecord(path)))
  return holder !== null && isAlive(holder)
}

/** The holder was killed before it released the mark. */
export const isAbandoned = (image: string): boolean => existsSync(markOf(image)) && !isHeld(image)

/** Identifies one hold, so that a later hold by the same process differs. Null when the volume is not held. */
export const holdingOf = (image: string): string | null => {
  if (!isHeld(image)) return null
  const found = statSync(markOf(image), { bigint: true, throwIfNoEntry: false })
  return found === undefined ? null : `${found.ino}-${found.mtimeNs}`
}

/** Resolves once the volume is not held. */
export const letGo = async (image: string): Promise<void> => {
  while (isHeld(image)) await sleep(POLL_MS)
}
