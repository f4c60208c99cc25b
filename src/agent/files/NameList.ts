/**
 * The names of one directory in the file system's own order, packed outside the heap: a million names of 20 bytes take about 32 MB.
 *
 * `prefix(n)` identifies the *set* of the first n names: it sums a 64-bit hash of each, so it does not depend on their order. It is not a
 * cryptographic hash: only the owner of the directory could forge it.
 */
export class NameList {
  #bytes = Buffer.allocUnsafe(4096)
  /** For each name: its end in `#bytes`, and the two lanes of the sum up to it. */
  #marks = new Uint32Array(3 * 128)
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Memory held. */
  get heldBytes(): number {
    return this.#bytes.byteLength + this.#marks.byteLength
  }

  push(name: string): void {
    const index = this.#length * 3
    const start = index === 0 ? 0 : this.#marks[index - 3]!
    if (start + name.length > this.#bytes.byteLength) {
      const grown = Buffer.allocUnsafe((start + name.length) * 2)
      this.#bytes.copy(grown, 0, 0, start)
      this.#bytes = grown
    }
    if (index === this.#marks.length) {
      const grown = new Uint32Array(index * 2)
      grown.set(this.#marks)
      this.#marks = grown
    }
    let low = 0x811c9dc5
    let high = 0x9747b28c
    for (let at = 0; at < name.length; at += 1) {
      const byte = name.charCodeAt(at)
      low = Math.imul(low ^ byte, 0x01000193)
      high = Math.imul(high ^ byte, 0x85ebca6b)
    }
    this.#marks[index] = start + this.#bytes.write(name, start, "latin1")
    this.#marks[index + 1] = (index === 0 ? 0 : this.#marks[index - 2]!) + finish(low)
    this.#marks[index + 2] = (index === 0 ? 0 : this.#marks[index - 1]!) + finish(high ^ name.length)
    this.#length += 1
  }

  at(index: number): string {
    return this.#bytes.toString("latin1", index === 0 ? 0 : this.#marks[index * 3 - 3]!, this.#marks[index * 3]!)
  }

  /** Requires 0 <= count <= length. */
  prefix(count: number): string {
    if (count === 0) return "0-0-0"
    return [count, this.#marks[count * 3 - 2]!, this.#marks[count * 3 - 1]!].map((part) => part.toString(36)).join("-")
  }
}

/** MurmurHash3's last step, after FNV-1a: spreads every bit over the lane, so that sums of hashes do not cancel out. */
const finish = (lane: number): number => {
  let h = lane ^ (lane >>> 16)
  h = Math.imul(h, 0x85ebca6b)
  h ^= h >>> 13
  h = Math.imul(h, 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
