/// <reference types="node" />
/** Paths of this machine, whose names are bytes where they are not UTF-8. */
import { join } from "node:path"
import { bytesOfName } from "../archive/names.ts"

/** Bytes where a name in it is not UTF-8. */
export type LocalPath = string | Buffer

export const within = (folder: LocalPath, name: LocalPath): LocalPath =>
  typeof folder === "string" && typeof name === "string"
    ? join(folder, name)
    : Buffer.concat([Buffer.from(folder), Buffer.from("/"), Buffer.from(name)])

/** Deno (2.9) turns bytes that are no UTF-8 into U+FFFD, so two names could become one. */
const takesBytes = !("Deno" in globalThis)

/** Whether a file here can have exactly this name. */
export const canBeNamed = (shown: string): boolean => takesBytes || typeof ownName(shown) === "string"

/** A name as the service and archives show it, as the bytes that it stands for. Names of Windows are always text. */
export const ownName = (shown: string): LocalPath => {
  const bytes = Buffer.from(bytesOfName(shown))
  return process.platform === "win32" || bytes.equals(Buffer.from(shown)) ? shown : bytes
}

export const ownPath = (given: string | Uint8Array): LocalPath =>
  typeof given === "string" ? given : Buffer.from(given)
