/** The Sandbox folders below a driver's root, and the record files in them that say what runs. They outlive the service. */
import { randomBytes, randomUUID } from "node:crypto"
import { readdirSync, readFileSync } from "node:fs"
import { open, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { Schema } from "effect"
import type { ProcessIdentity } from "./ProcessIdentity.ts"

const SANDBOX_ID = /^[A-Za-z0-9_-]{1,64}$/

export const isSandboxId = (text: string | undefined): text is string => text !== undefined && SANDBOX_ID.test(text)

/** Of a Sandbox that was started ahead, in the place of an id. The dot keeps an earlier version, which does not know spares, from taking it for a Sandbox. */
const SPARE_NAME = /^spare\.[0-9a-f]{16}$/

export const isSpareName = (text: string | undefined): text is string => text !== undefined && SPARE_NAME.test(text)

export const newSpareName = (): string => `spare.${randomBytes(8).toString("hex")}`

/** Throws when the id is not a plain file name. */
export const sandboxFolder = (root: string, sandboxId: string): string => {
  if (!isSandboxId(sandboxId) && !isSpareName(sandboxId))
    throw new Error("a sandboxId is 1 to 64 letters, digits, - or _")
  return join(root, sandboxId)
}

/** The ids of all Sandboxes that have a folder. */
export const sandboxIdsIn = (root: string): ReadonlyArray<string> => foldersIn(root, isSandboxId)

/** The names of all spares that have a folder. */
export const spareNamesIn = (root: string): ReadonlyArray<string> => foldersIn(root, isSpareName)

const foldersIn = (root: string, isWanted: (name: string) => boolean): ReadonlyArray<string> => {
  try {
    return readdirSync(root, { withFileTypes: true })
      .filter((it) => it.isDirectory() && isWanted(it.name))
      .map((it) => it.name)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return []
    throw cause
  }
}

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

/** A process as recorded. The drivers once used different formats, and processes recorded in an old one may still run. */
export const WrittenProcess: Schema.Decoder<ProcessIdentity> = Schema.Union([
  Schema.Struct({ pid: Count, startTime: Count, bootId: Schema.String }),
  Schema.Struct({ pid: Count, startTime: Schema.NumberFromString.check(Schema.isInt()), bootId: Schema.String }),
  Schema.Struct({ pid: Count, startTime: Count, bootId: Schema.String }).pipe(
    Schema.encodeKeys({ bootId: "hostBootId" })
  )
])

/** Null when the record is missing or unreadable: then nothing that it named is known to exist. */
export const readRecord = (path: string): unknown => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return null
  }
}

/**
 * Replaces a record atomically: a reader sees the old content or the new one, even after a crash of the service. With `durable`, also after a crash
 * of the host.
 */
export const writeRecord = async (path: string, value: unknown, options: { readonly durable: boolean }) => {
  const partial = `${path}.${randomUUID()}`
  try {
    const file = await open(partial, "w", 0o600)
    try {
      await file.writeFile(JSON.stringify(value))
      if (options.durable) await file.datasync()
    } finally {
      await file.close()
    }
    await rename(partial, path)
  } catch (cause) {
    // A full disk takes the name of a file, and not its content.
    await rm(partial, { force: true }).catch(() => {})
    throw cause
  }
}
