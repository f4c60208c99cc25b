/**
 * Tokens of session cookies, invitations and sign-in links: 256 random bits, as 43 characters that URLs and cookies accept unescaped.
 *
 * Only the SHA-256 is stored and looked up, so the time of a lookup reveals nothing.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto"

export const newToken = (): string => randomBytes(32).toString("base64url")

/** Other text is not looked up in the database. */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

/** 64 lowercase hexadecimal characters. */
export const sha256Of = (text: string): string => hash("sha256", text, "hex")

/**
 * A value that a page must send beside the cookie, which the browser sends for any page. It is derived from the token and does not reveal it.
 *
 * @source OWASP Cross-Site Request Forgery Prevention Cheat Sheet, "Signed Double-Submit Cookie"
 */
export const csrfOf = (token: string): string => createHmac("sha256", token).update("atoll csrf").digest("base64url")

export const isCsrfOf = (token: string, given: string): boolean => {
  const expected = Buffer.from(csrfOf(token))
  const found = Buffer.from(given)
  return found.length === expected.length && timingSafeEqual(found, expected)
}
