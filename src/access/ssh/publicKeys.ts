/** OpenSSH public keys as callers submit them. */
import { createPublicKey } from "node:crypto"
import ssh2 from "ssh2"

const rsaMinBits = 3072

/**
 * The canonical spelling `algorithm base64`, without a comment.
 *
 * @returns Null for a line that is not a key, is damaged, or is too weak.
 */
export const canonicalKey = (line: string): string | null => {
  const key = ssh2.utils.parseKey(line.trim())
  if (key instanceof Error || key.isPrivateKey()) return null
  if (key.type === "ssh-rsa") {
    const bits = createPublicKey(key.getPublicPEM()).asymmetricKeyDetails?.modulusLength ?? 0
    if (bits < rsaMinBits) return null
  }
  return `${key.type} ${key.getPublicSSH().toString("base64")}`
}

/** Order and repetition do not matter. */
export const isSameSet = (one: ReadonlyArray<string>, other: ReadonlyArray<string>): boolean =>
  new Set(one).size === new Set([...one, ...other]).size && new Set(other).size === new Set(one).size
