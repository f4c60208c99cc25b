/** `credentials.json`: the service's address and the first API key, for the command line of this folder. Only its owner can read it. */
import { randomUUID } from "node:crypto"
import { readFile, rename, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"

export interface Credentials {
  /** Without `/api/v2`. */
  readonly url: string
  readonly apiKey: string
}

const file = "credentials.json"

export const credentialsIn = (dataDir: string): string => join(dataDir, file)

/** Null: there are none that can be read. */
export const readCredentials = async (dataDir: string): Promise<Credentials | null> => {
  try {
    const { url, apiKey } = JSON.parse(await readFile(credentialsIn(dataDir), "utf8"))
    return typeof url === "string" && typeof apiKey === "string" ? { url, apiKey } : null
  } catch {
    return null
  }
}

/** Writes the file atomically. */
export const writeCredentials = async (dataDir: string, { url, apiKey }: Credentials): Promise<void> => {
  const path = credentialsIn(dataDir)
  const whole = `${path}.${randomUUID()}`
  try {
    await writeFile(whole, `${JSON.stringify({ url, apiKey }, null, 2)}\n`, { mode: 0o600, flag: "wx" })
    await rename(whole, path)
  } finally {
    await rm(whole, { force: true })
  }
}
