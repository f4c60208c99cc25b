/**
 * The secret of an API key: created once, shown once, then stored only as a hash.
 *
 * Secrets are looked up by their SHA-256, so the time of a lookup reveals nothing about the secret.
 *
 * @source contract-details.md "Identifiers and secrets"
 */
import { hash, randomInt } from "node:crypto"

const prefix = "atoll_live_"
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** 43 characters of 62 have 256 bits. */
const randomCharacters = 43
const hintCharacters = 4

export const newSecret = (): string =>
  prefix + Array.from({ length: randomCharacters }, () => alphabet[randomInt(alphabet.length)]).join("")

/** 64 lowercase hexadecimal characters. */
export const sha256Of = (secret: string): string => hash("sha256", secret, "hex")

/** The last 4 characters. */
export const hintOf = (secret: string): string => secret.slice(-hintCharacters)

/** Also true for a secret with a typo: code that forwards headers removes all of them. */
export const looksLikeSecret = (text: string): boolean => text.startsWith(prefix)

const whole = new RegExp(`^${prefix}[0-9A-Za-z]{${randomCharacters}}$`)

/** True only for the exact form of `newSecret`. Nothing else is looked up in the database. */
export const isSecret = (text: string): boolean => whole.test(text)

const anySecret = new RegExp(`${prefix}[0-9A-Za-z]+`, "g")

/** Masks secrets in text that a caller chose and that is stored. */
export const withoutSecrets = (text: string): string => text.replace(anySecret, `${prefix}***`)
