/**
 * The secret of an API key: made once, shown once, then known only by its hash.
 *
 * Secrets are looked up by their SHA-256, so the time of a lookup tells nothing about the secret.
 *
 * @source contract-details.md "Identifiers and secrets"
 */
import { hash, randomInt } from "node:crypto"

const prefix = "atoll_live_"
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
/** 43 characters of 62 carry 256 bits. */
const randomCharacters = 43
const hintCharacters = 4

export const newSecret = (): string =>
  prefix + Array.from({ length: randomCharacters }, () => alphabet[randomInt(alphabet.length)]).join("")

/** 64 lowercase hexadecimal characters. */
export const sha256Of = (secret: string): string => hash("sha256", secret, "hex")

/** The last 4 characters. */
export const hintOf = (secret: string): string => secret.slice(-hintCharacters)

/** Not of those who mean well but for a typo, either: whoever passes headers on keeps it back. */
export const looksLikeSecret = (text: string): boolean => text.startsWith(prefix)

const whole = new RegExp(`^${prefix}[0-9A-Za-z]{${randomCharacters}}$`)

/** Exactly as `newSecret` makes them. Nothing else is a key of ours, and nothing else is looked for in the database. */
export const isSecret = (text: string): boolean => whole.test(text)

const anySecret = new RegExp(`${prefix}[0-9A-Za-z]+`, "g")

/** For text that a caller chose freely and that is kept: what looks like a secret of ours is not kept with it. */
export const withoutSecrets = (text: string): string => text.replace(anySecret, `${prefix}***`)
