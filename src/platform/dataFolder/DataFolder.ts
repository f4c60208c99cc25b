/**
 * The identity files of a data folder: its id (`host`), the secret that proves this id to a fleet (`host.key`), and the database whose Sandboxes it
 * holds (`installation`). Each is written once.
 */
import { randomBytes, randomUUID } from "node:crypto"
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

const codeOf = (error: unknown) => (error as NodeJS.ErrnoException).code

const readIfThere = (path: string) =>
  readFile(path, "utf8").then(
    (text) => text.trim(),
    (error: unknown) => {
      if (codeOf(error) === "ENOENT") return null
      throw error
    }
  )

/** If two processes start concurrently on a new folder, the first writes the file atomically, and both read it. */
const readOrMake = async (path: string, made: string, mode = 0o644): Promise<string> => {
  const found = await readIfThere(path)
  if (found !== null) return found
  const whole = `${path}.${randomUUID()}`
  await writeFile(whole, `${made}\n`, { mode })
  try {
    await link(whole, path)
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error
  } finally {
    await rm(whole, { force: true })
  }
  return (await readFile(path, "utf8")).trim()
}

/** Each call rejects if the folder cannot be used. */
export const DataFolder = {
  make: (folder: string): Promise<unknown> => mkdir(folder, { recursive: true }),
  /** `host_` and 24 hex digits; made if missing. */
  host: (folder: string): Promise<string> =>
    readOrMake(join(folder, "host"), `host_${randomBytes(12).toString("hex")}`),
  /** 64 secret hex digits; made if missing. */
  key: (folder: string): Promise<string> =>
    readOrMake(join(folder, "host.key"), randomBytes(32).toString("hex"), 0o600),
  /** Null when it belongs to no database yet. */
  installation: (folder: string): Promise<string | null> => readIfThere(join(folder, "installation")),
  /** Binds the folder to the database, unless it is bound already. Resolves with the database to which it is bound. */
  bind: (folder: string, installation: string): Promise<string> =>
    readOrMake(join(folder, "installation"), installation)
}
