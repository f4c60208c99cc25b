// Copied by `npm run clients` from src/platform/tar/paxRecords.ts. Not to be edited.

/**
 * The records of a PAX header: what a header of 512 bytes has no room for.
 *
 * @source IEEE Std 1003.1-2017, pax, "pax Extended Header"
 */
import { joined } from "./joined.ts"
import { malformed } from "./TarFault.ts"

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { ignoreBOM: true })

const blank = 0x20
const equals = 0x3d
const newline = 0x0a
const lengthMaxDigits = 10

export const paxText = (value: Uint8Array): string => decoder.decode(value)

/** `length key=value\n`, whose length counts its own digits. */
export const paxRecord = (key: string, value: Uint8Array | string): Uint8Array => {
  const bytes = typeof value === "string" ? encoder.encode(value) : value
  const rest = joined([encoder.encode(` ${key}=`), bytes, encoder.encode("\n")])
  let length = rest.length
  while (length !== rest.length + String(length).length) length = rest.length + String(length).length
  return joined([encoder.encode(String(length)), rest])
}

/** The last value of a key counts. The values are views of `bytes`. Throws a TarFault. */
export const readPax = (bytes: Uint8Array): ReadonlyMap<string, Uint8Array> => {
  const records = new Map<string, Uint8Array>()
  for (let at = 0; at < bytes.length && bytes[at] !== 0; ) {
    const key = bytes.indexOf(blank, at) + 1
    const digits = key === 0 || key - 1 - at > lengthMaxDigits ? "" : paxText(bytes.subarray(at, key - 1))
    const end = at + Number(digits)
    if (!/^\d+$/.test(digits) || end <= key || end > bytes.length || bytes[end - 1] !== newline) throw broken()
    const value = bytes.indexOf(equals, key) + 1
    if (value <= key + 1 || value >= end) throw broken()
    records.set(paxText(bytes.subarray(key, value - 1)), bytes.subarray(value, end - 1))
    at = end
  }
  return records
}

const broken = () => malformed("a PAX header is broken")
