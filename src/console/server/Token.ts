/**
 * What a session's cookie, an invitation and a sign-in link hold: 256 random bits, in 43 characters that a URL and a cookie take as they are.
 *
 * Only the SHA-256 is stored, and looked up by, so the time of a look-up tells nothing.
 */
import { createHmac, hash, randomBytes, timingSafeEqual } from "node:crypto"

export const newToken = (): string => randomBytes(32).toString("base64url")

/** Nothing else is looked for in the database. */
export const isToken = (text: string): boolean => /^[\w-]{43}$/.test(text)

/** 64 lowercase hexadecimal characters. */
export const sha256Of = (text: string): string => hash("sha256", text, "hex")

/**
 * What a page must know beside the cookie, which goes by itself: follows from the token, which only the browser has, and does not tell it.
 *
 * @source OWASP Cross-Site Request Forgery Prevention Cheat Sheet, "Signed Double-Submit Cookie"
 */
export const csrfOf = (token: string): string => createHmac("sha256", token).update("atoll csrf").digest("base64url")

export const isCsrfOf = (token: string, given: string): boolean => {
  const expected = Buffer.from(csrfOf(token))
  const found = Buffer.from(given)
  return found.length === expected.length && timingSafeEqual(found, expected)
}
