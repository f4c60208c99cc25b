/**
 * Makes identifiers: a prefix and 26 characters of lowercase Crockford base32 over a UUIDv7, so that ids sort by age.
 *
 * Within one process ids of one millisecond ascend too: 12 bits of sequence follow the time.
 *
 * @source contract-details.md "Identifiers and secrets", RFC 9562 section 5.7 (UUIDv7), 6.2 method 1
 */
import { randomFillSync } from "node:crypto"
import type { PublicText } from "../../../schemas/PublicText.ts"

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
const pool = Buffer.alloc(16 * 256)
let poolAt = pool.length
let lastMs = 0
let sequence = 0

const randomBytes8 = (): Buffer => {
  if (poolAt + 8 > pool.length) {
    randomFillSync(pool)
    poolAt = 0
  }
  poolAt += 8
  return pool.subarray(poolAt - 8, poolAt)
}

/** 128 bits as 26 characters: the first holds 3 bits, each other one 5. */
export const base32 = (high: bigint, low: bigint): string => {
  let value = (high << 64n) | low
  let text = ""
  for (let i = 0; i < 26; i++) {
    text = alphabet[Number(value & 31n)] + text
    value >>= 5n
  }
  return text
}

export type IdPrefix =
  | "acc_"
  | "wsp_"
  | "sbx_"
  | "vol_"
  | "key_"
  | "ep_"
  | "aud_"
  | "grt_"
  | "inv_"
  | "ses_"
  | "ops_"
  | "dec_"
  | "env_"
  | "snp_"
  | "img_"

/** A UUIDv7, as its two halves. */
const uuid7 = (): readonly [high: bigint, low: bigint] => {
  const now = Date.now()
  if (now > lastMs) {
    lastMs = now
    sequence = randomBytes8().readUInt16BE(0) & 0x7ff
  } else if (++sequence > 0xfff) {
    lastMs++
    sequence = 0
  }
  const high = (BigInt(lastMs) << 16n) | 0x7000n | BigInt(sequence)
  const low = (randomBytes8().readBigUInt64BE(0) & 0x3fffffffffffffffn) | 0x8000000000000000n
  return [high, low]
}

export const newId = <P extends IdPrefix>(prefix: P): `${P}${string}` => `${prefix}${base32(...uuid7())}`

/** For a call without HTTP: `req_` and 32 lowercase hexadecimal characters from 128 random bits. */
export const newRequestId = (): `req_${string}` =>
  `req_${randomBytes8().toString("hex")}${randomBytes8().toString("hex")}`

/** A reference by which an operator finds the log line of a failure that a customer reports: `flt_` and 8 characters. */
export const newReference = (): PublicText =>
  `flt_${base32(0n, randomBytes8().readBigUInt64BE(0)).slice(-8)}` as PublicText

/** `op_` and the 32 lowercase hexadecimal digits of a UUIDv7: ids of operations of one process sort by creation even within a millisecond. */
export const newOperationId = (): `op_${string}` =>
  `op_${uuid7()
    .map((half) => half.toString(16).padStart(16, "0"))
    .join("")}`
