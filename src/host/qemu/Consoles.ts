/** Reads what machines write to their consoles, each from where this process left off. */
import { constants } from "node:fs"
import { open } from "node:fs/promises"
import type { ConsoleChunk } from "../../runtime/Runtime.ts"

const CHUNK_MAX_BYTES = 64 * 1024
/** A console that has grown past this is emptied once it was read: nothing that a guest does fills the host's disk by it. */
const FILE_MAX_BYTES = 1024 ** 2

interface Position {
  readonly generation: number
  /** Bytes of this generation that were emptied away. */
  base: number
  /** Where to read on in the file. */
  next: number
}

export interface ConsoleFile {
  readonly sandboxId: string
  readonly generation: number
  readonly path: string
}

export class Consoles {
  private readonly positions = new Map<string, Position>()

  /** What has come since the last look. Forgets machines that are not asked for any more. */
  async read(files: ReadonlyArray<ConsoleFile>): Promise<ReadonlyArray<ConsoleChunk>> {
    const chunks: Array<ConsoleChunk> = []
    for (const file of files) {
      const chunk = await this.readOne(file).catch(() => null)
      if (chunk !== null) chunks.push(chunk)
    }
    const asked = new Set(files.map(({ sandboxId }) => sandboxId))
    for (const sandboxId of this.positions.keys()) if (!asked.has(sandboxId)) this.positions.delete(sandboxId)
    return chunks
  }

  private async readOne({ sandboxId, generation, path }: ConsoleFile): Promise<ConsoleChunk | null> {
    let position = this.positions.get(sandboxId)
    if (position?.generation !== generation) {
      position = { generation, base: 0, next: 0 }
      this.positions.set(sandboxId, position)
    }
    // QEMU's user owns the file, not the folder; still nothing but a plain file is read.
    const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const stat = await file.stat()
      if (!stat.isFile() || stat.size <= position.next) return null
      const buffer = Buffer.alloc(Math.min(CHUNK_MAX_BYTES, stat.size - position.next))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, position.next)
      const offset = position.base + position.next
      position.next += bytesRead
      if (position.next >= FILE_MAX_BYTES && position.next >= stat.size) {
        await file.truncate(0)
        position.base += position.next
        position.next = 0
      }
      return { sandboxId, generation, offset, bytes: buffer.subarray(0, bytesRead) }
    } finally {
      await file.close()
    }
  }
}
