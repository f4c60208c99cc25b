/**
 * SHA-256 of edited text. Browsers offer it only on pages from TLS or localhost; the console also works on others.
 *
 * @source FIPS 180-4 section 6.2
 */

/** The first 32 bits of the fractional parts of a root of the first primes. */
const fractions = (count: number, root: number): Uint32Array => {
  const words = new Uint32Array(count)
  for (let found = 0, candidate = 2; found < count; candidate++) {
    let isPrime = true
    for (let factor = 2; factor * factor <= candidate && isPrime; factor++) isPrime = candidate % factor !== 0
    if (isPrime) words[found++] = (candidate ** (1 / root) % 1) * 2 ** 32
  }
  return words
}

const constants = fractions(64, 3)

const rotated = (word: number, by: number): number => (word >>> by) | (word << (32 - by))

/** The message, a 1 bit, zeros, and its length in bits, in blocks of 64 bytes. */
const padded = (bytes: Uint8Array): DataView => {
  const view = new DataView(new ArrayBuffer(((bytes.byteLength + 8) >> 6) * 64 + 64))
  new Uint8Array(view.buffer).set(bytes)
  view.setUint8(bytes.byteLength, 0x80)
  view.setUint32(view.byteLength - 8, Math.floor(bytes.byteLength / 2 ** 29))
  view.setUint32(view.byteLength - 4, bytes.byteLength << 3)
  return view
}

/** @returns 64 lowercase hexadecimal characters. */
export const sha256 = (bytes: Uint8Array): string => {
  const state = fractions(8, 2)
  const view = padded(bytes)
  const w = new Uint32Array(64)
  for (let block = 0; block < view.byteLength; block += 64) {
    for (let at = 0; at < 64; at++) {
      if (at < 16) {
        w[at] = view.getUint32(block + at * 4)
        continue
      }
      const x = w[at - 15]!
      const y = w[at - 2]!
      const s0 = rotated(x, 7) ^ rotated(x, 18) ^ (x >>> 3)
      const s1 = rotated(y, 17) ^ rotated(y, 19) ^ (y >>> 10)
      w[at] = w[at - 16]! + s0 + w[at - 7]! + s1
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number]
    for (let at = 0; at < 64; at++) {
      const t1 =
        (h + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & f) ^ (~e & g)) + constants[at]! + w[at]!) | 0
      const t2 = ((rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + t1) | 0
      d = c
      c = b
      b = a
      a = (t1 + t2) | 0
    }
    for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = state[at]! + word
  }
  return [...state].map((word) => word.toString(16).padStart(8, "0")).join("")
}
