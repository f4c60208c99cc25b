/**
 * Reads what machines write to their consoles. QEMU keeps it in a ring that a read empties; how much was read is written down, so that offsets
 * go on where they were after the service was started anew.
 *
 * @source QEMU qapi/char.json "ringbuf-read"
 */
import { setTimeout as sleep } from "node:timers/promises"
import type { ConsoleChunk } from "../../runtime/Runtime.ts"
import { CONSOLE } from "./machineArguments.ts"
import type { Qmp } from "./Qmp.ts"
import type { SandboxFolder } from "./SandboxFolder.ts"

const CHUNK_MAX_BYTES = 64 * 1024
/** A QEMU that does not answer keeps nobody else's console waiting; its answer is taken whenever it comes. */
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
  /** Undefined until then. */
  chunk: ConsoleChunk | null | undefined
}

export class Consoles {
  private readonly underWay = new Map<string, Reading>()

  /** What has come since the last look. */
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
  // Before anybody has them: what a crash loses now is a gap, and nothing is ever told under another's offset.
  await folder.noteConsoleOffset(generation, offset + bytes.length)
  return { sandboxId, generation, offset, bytes }
}
