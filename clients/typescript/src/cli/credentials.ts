/** The file of `atoll login`: one service and its key, readable only by its owner. */
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { isRecord } from "../errors.ts"
import { Refused } from "./failure.ts"

export interface Credentials {
  /** Of the service, without `/api/v2`. */
  readonly url: string
  readonly apiKey: string
}

/** ATOLL_CREDENTIALS names another file: the command line of a service's own folder has one. */
export const credentialsPath = (): string => {
  const named = process.env["ATOLL_CREDENTIALS"]
  if (named) return resolve(named)
  const configured = process.env["XDG_CONFIG_HOME"]
  // By the specification a relative one does not count.
  const folder = configured?.startsWith("/") ? configured : join(homedir(), ".config")
  return join(folder, "atoll", "credentials.json")
}

/** Null: no key is stored. */
export const storedCredentials = (): Credentials | null => {
  const path = credentialsPath()
  let text: string
  try {
    text = readFileSync(path, "utf8")
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return null
    throw new Refused(`${path} cannot be read: ${(thrown as Error).message}`)
  }
  let stored: unknown = null
  try {
    stored = JSON.parse(text)
  } catch {
    // Reported below.
  }
  if (!isRecord(stored) || typeof stored["url"] !== "string" || typeof stored["apiKey"] !== "string") {
    throw new Refused(`${path} is not what \`atoll login\` writes. Log in again, or remove it.`)
  }
  if ((statSync(path).mode & 0o077) !== 0) {
    throw new Refused(`${path} can be read by others on this machine. Make it yours: chmod 600 ${path}`)
  }
  return { url: stored["url"], apiKey: stored["apiKey"] }
}

/** Whole or not at all. */
export const storeCredentials = ({ url, apiKey }: Credentials): string => {
  const path = credentialsPath()
  const folder = join(path, "..")
  const beside = `${path}.${process.pid}`
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    rmSync(beside, { force: true })
    writeFileSync(beside, `${JSON.stringify({ url, apiKey }, null, 2)}\n`, { mode: 0o600, flag: "wx" })
    chmodSync(beside, 0o600)
    renameSync(beside, path)
  } catch (thrown) {
    rmSync(beside, { force: true })
    throw new Refused(`The key cannot be stored: ${(thrown as Error).message}`)
  }
  return path
}

/** Whether there was one. */
export const forgetCredentials = (): boolean => {
  try {
    rmSync(credentialsPath())
    return true
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return false
    throw new Refused(`The key cannot be removed: ${(thrown as Error).message}`)
  }
}
