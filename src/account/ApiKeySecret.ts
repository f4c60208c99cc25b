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
/** Shorter ones (a bootstrap secret may be) would give too much of themselves away. */
const hintedFromCharacters = 16

export const newSecret = (): string =>
  prefix + Array.from({ length: randomCharacters }, () => alphabet[randomInt(alphabet.length)]).join("")

/** 64 lowercase hexadecimal characters. */
export const sha256Of = (secret: string): string => hash("sha256", secret, "hex")

/** The last 4 characters. */
export const hintOf = (secret: string): string =>
  secret.length < hintedFromCharacters ? "*".repeat(hintCharacters) : secret.slice(-hintCharacters)

/** As `newSecret` makes them; a bootstrap secret may look otherwise. */
export const looksLikeSecret = (text: string): boolean => text.startsWith(prefix)

/** What can be sent as a Bearer token at all: visible ASCII. */
export const isSendable = (secret: string): boolean => /^[\x21-\x7e]{1,512}$/.test(secret)
