/** Fingerprint of a request: method, path, and the JSON body regardless of the order of its keys. */
import { hash } from "node:crypto"

type Json = null | boolean | number | string | ReadonlyArray<Json> | { readonly [key: string]: Json }

/** Sorted keys, no blanks. The depth was checked before: see jsonDepthMax. */
const canonical = (value: Json): string => {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
    return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`).join(",")}}`
  }
  return JSON.stringify(value)
}

/**
 * @param body Valid JSON text.
 * @returns 64 lowercase hexadecimal characters.
 */
export const fingerprint = (method: string, path: string, body: string): string =>
  hash("sha256", `${method} ${path}\n${canonical(JSON.parse(body) as Json)}`, "hex")
