/**
 * Removes old versions of `ownPrograms` and of the Node that runs agents (some 130 MB each). Several Atolls of different versions share their folder, and
 * each running Sandbox has its version mounted.
 *
 * A file beside each version says when it was last used. Every boot renews it, for Node every start of Atoll, and once a day every Atoll renews it for
 * its own Node and the Sandboxes that it sees, so that an Atoll in another container, which does not see their processes, keeps the version as well. A
 * version without this file is from an Atoll that renews nothing, so it stays.
 */
import { randomUUID } from "node:crypto"
import { existsSync } from "node:fs"
import { open, readdir, rename, rm, stat } from "node:fs/promises"
import { join } from "node:path"
import { mountedFolders } from "../linux/mountedFolders.ts"

/** As long as an unused image of virtual machines stays. */
const UNUSED_MS = 30 * 24 * 3_600_000
/** Much longer than one takes to be made. */
const UNFINISHED_MS = 24 * 3_600_000
const VERSION = /^(?:programs-[0-9a-f]{16}|\.node-v\d+\.\d+\.\d+)$/
const UNFINISHED = /^(?:programs-[0-9a-f]{16}|\.node-v\d+\.\d+\.\d+)[.-][0-9a-f-]{36}$/

/** The name of a version while it is being made or removed. */
export const unfinishedPrograms = (version: string): string => `${version}.${randomUUID()}`

const markOf = (version: string): string => `${version}.used`

/** Call it before each use. */
export const noteProgramsUse = async (version: string): Promise<void> => {
  const mark = await open(markOf(version), "a", 0o600)
  try {
    const now = new Date()
    await mark.utimes(now, now)
  } finally {
    await mark.close()
  }
}

/**
 * Removes no version where this process may not see what is mounted.
 * @param node The name of the Node that this process starts agents with: it stays, and alone it is no reason to look at the mounts.
 */
export const removeOldPrograms = async (parent: string, node: string, look = mountedFolders): Promise<void> => {
  const names = await readdir(parent)
  for (const name of names) {
    if (UNFINISHED.test(name) && (await ageOf(join(parent, name))) > UNFINISHED_MS) await removed(join(parent, name))
  }
  const versions = names.filter((name) => VERSION.test(name) && name !== node && existsSync(markOf(join(parent, name))))
  if (versions.length === 0) return
  const mounted = await look()
  if (mounted === null) return
  for (const name of versions) {
    const version = join(parent, name)
    if (mounted.has(name)) await noteProgramsUse(version)
    // Read after the look at the mounts: a boot since then has renewed it.
    else if ((await ageOf(markOf(version))) > UNUSED_MS) await removeVersion(version)
  }
}

const removed = (path: string): Promise<void> => rm(path, { recursive: true, force: true })

/** No Atoll ever finds half a version. */
const removeVersion = async (version: string): Promise<void> => {
  const left = unfinishedPrograms(version)
  await rename(version, left).catch((cause: NodeJS.ErrnoException) => {
    // Another Atoll removes it.
    if (cause.code !== "ENOENT") throw cause
  })
  await removed(markOf(version))
  await removed(left)
}

/** 0 for a file that is gone. */
const ageOf = async (path: string): Promise<number> => {
  const found = await stat(path).catch(() => null)
  return found === null ? 0 : Date.now() - found.mtimeMs
}
