/** The contents of all files of one image, one after the other, in one file without structure. */
import { type FileHandle, open, rm } from "node:fs/promises"

const BUFFER_BYTES = 1024 ** 2

export class Spool {
  readonly path: string
  readonly #file: FileHandle
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES)
  #filled = 0
  #written = 0

  private constructor(path: string, file: FileHandle) {
    this.path = path
    this.#file = file
  }

  static async open(path: string): Promise<Spool> {
    return new Spool(path, await open(path, "wx+", 0o600))
  }

  /** The offset of the next byte. */
  get length(): number {
    return this.#written + this.#filled
  }

  get fd(): number {
    return this.#file.fd
  }

  async append(bytes: Uint8Array): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + BUFFER_BYTES - this.#filled)
      this.#buffer.set(part, this.#filled)
      this.#filled += part.length
      at += part.length
      if (this.#filled === BUFFER_BYTES) await this.flush()
    }
  }

  async flush(): Promise<void> {
    for (let at = 0; at < this.#filled; ) {
      const { bytesWritten } = await this.#file.write(this.#buffer, at, this.#filled - at, this.#written + at)
      at += bytesWritten
    }
    this.#written += this.#filled
    this.#filled = 0
  }

  /** After `flush`. */
  async read(offset: number, size: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafe(size)
    for (let at = 0; at < size; ) {
      const { bytesRead } = await this.#file.read(bytes, at, size - at, offset + at)
      if (bytesRead === 0) throw new Error(`${this.path} is shorter than what was written to it`)
      at += bytesRead
    }
    return bytes
  }

  async remove(): Promise<void> {
    await this.#file.close()
    await rm(this.path, { force: true })
  }
}
