/** Identifiers derived from their subject: the same subject gets the same id in every process. */
import { createHash } from "node:crypto"
import { base32 } from "./newId.ts"

/** `prefix` and 26 characters of lowercase Crockford base32 over the first 128 bits of a SHA-256. */
export const derivedId = <P extends `${string}_`>(prefix: P, what: string): `${P}${string}` => {
  const digest = createHash("sha256").update(what).digest()
  return `${prefix}${base32(digest.readBigUInt64BE(0), digest.readBigUInt64BE(8))}`
}
