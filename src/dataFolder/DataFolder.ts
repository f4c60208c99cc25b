/**
 * What a data folder says of itself: an id of its own (`host`), what proves to a fleet that it is that one (`host.key`), and the database whose Sandboxes
 * it carries (`installation`). Each is written once.
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

/** Two processes that start at once on a new folder: the first writes, whole, and both read. */
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

/** Each call rejects where the folder cannot be used. */
export const DataFolder = {
  make: (folder: string): Promise<unknown> => mkdir(folder, { recursive: true }),
  /** `host_` and 24 hex digits; made where there is none. */
  host: (folder: string): Promise<string> =>
    readOrMake(join(folder, "host"), `host_${randomBytes(12).toString("hex")}`),
  /** 64 hex digits that nobody else knows; made where there is none. */
  key: (folder: string): Promise<string> =>
    readOrMake(join(folder, "host.key"), randomBytes(32).toString("hex"), 0o600),
  /** Null: it belongs to no database yet. */
  installation: (folder: string): Promise<string | null> => readIfThere(join(folder, "installation")),
  /** Whom it belongs to from now on: that one, if it was nobody's. */
  bind: (folder: string, installation: string): Promise<string> =>
    readOrMake(join(folder, "installation"), installation)
}
