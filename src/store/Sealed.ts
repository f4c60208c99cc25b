/**
 * Text that only this server can decrypt, bound to its purpose: it does not decrypt for any other purpose.
 *
 * AES-256-GCM; nonce (12 bytes), ciphertext, tag (16 bytes). The purpose is the additional data.
 *
 * @source NIST SP 800-38D
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto"

const algorithm = "aes-256-gcm"
const nonceBytes = 12
const tagBytes = 16

export const seal = (key: Uint8Array, boundTo: string, text: string): Buffer => {
  const nonce = randomBytes(nonceBytes)
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(Buffer.from(boundTo))
  return Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()])
}

/** Null if the bytes were not sealed with this key for exactly this purpose. */
export const unseal = (key: Uint8Array, boundTo: string, sealed: Uint8Array): string | null => {
  const tagAt = sealed.byteLength - tagBytes
  if (tagAt < nonceBytes) return null
  const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes })
    .setAAD(Buffer.from(boundTo))
    .setAuthTag(sealed.subarray(tagAt))
  try {
    return decipher.update(sealed.subarray(nonceBytes, tagAt), undefined, "utf8") + decipher.final("utf8")
  } catch {
    return null
  }
}
