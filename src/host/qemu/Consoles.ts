/**
 * Reads the consoles of machines. QEMU keeps the output in a ring buffer that a read empties. The number of bytes read is recorded, so that offsets
 * continue after a restart of the service.
 *
 * @source QEMU qapi/char.json "ringbuf-read"
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { ConsoleChunk } from "../../runtime/Runtime.ts"
import { CONSOLE } from "./machineArguments.ts"
import type { Qmp } from "./Qmp.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"

const CHUNK_MAX_BYTES = 64 * 1024
/** A QEMU that does not answer must not delay the other consoles. Its answer is used when it arrives. */
const PATIENCE_MS = 250

export interface ConsoleSource {
  readonly sandboxId: string
  readonly generation: number
  readonly qmp: Pick<Qmp, "execute">
  readonly folder: Pick<SandboxFolder, "consoleOffset" | "noteConsoleOffset">
}

interface Reading {
  readonly qmp: ConsoleSource["qmp"]
  readonly ended: Promise<void>
  /** Undefined until the read has ended. */
  chunk: ConsoleChunk | null | undefined
}

export class Consoles {
  private readonly underWay = new Map<string, Reading>()

  /** Returns the output since the last call. */
  async read(sources: ReadonlyArray<ConsoleSource>): Promise<ReadonlyArray<ConsoleChunk>> {
    const asked = new Set(sources.map(({ sandboxId }) => sandboxId))
    for (const sandboxId of this.underWay.keys()) if (!asked.has(sandboxId)) this.underWay.delete(sandboxId)
    if (sources.length === 0) return []
    const patience = new AbortController()
    const late = sleep(PATIENCE_MS, undefined, { signal: patience.signal }).catch(() => {})
    await Promise.race([Promise.all(sources.map((source) => this.readingOf(source).ended)), late])
    patience.abort()
    const chunks: Array<ConsoleChunk> = []
    for (const [sandboxId, { chunk }] of this.underWay) {
      if (chunk === undefined) continue
      this.underWay.delete(sandboxId)
      if (chunk !== null) chunks.push(chunk)
    }
    return chunks
  }

  private readingOf(source: ConsoleSource): Reading {
    const known = this.underWay.get(source.sandboxId)
    if (known?.qmp === source.qmp) return known
    const read = readOne(source).catch(() => null)
    const reading: Reading = {
      qmp: source.qmp,
      chunk: undefined,
      ended: read.then((chunk) => {
        reading.chunk = chunk
      })
    }
    this.underWay.set(source.sandboxId, reading)
    return reading
  }
}

const readOne = async ({ sandboxId, generation, qmp, folder }: ConsoleSource): Promise<ConsoleChunk | null> => {
  const read = await qmp.execute("ringbuf-read", { device: CONSOLE, size: CHUNK_MAX_BYTES, format: "base64" })
  const bytes = Buffer.from(typeof read === "string" ? read : "", "base64")
  if (bytes.length === 0) return null
  const offset = await folder.consoleOffset(generation)
  // Recorded before the bytes are delivered: a crash now leaves a gap, and no byte is ever delivered under another byte's offset.
  await folder.noteConsoleOffset(generation, offset + bytes.length)
  return { sandboxId, generation, offset, bytes }
}
