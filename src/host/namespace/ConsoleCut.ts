/**
 * How many bytes at the beginning of a generation's console were removed: `console.json` in the Sandbox's folder. A service that starts counts on from there.
 * Without it, it would take later bytes for those that the log has.
 */
import { renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Option, Schema } from "effect"
import { readRecord } from "../linux/SandboxRecords.ts"

const decode = Schema.decodeUnknownOption(Schema.Struct({ generation: Schema.Int, cutBytes: Schema.Int }))

export class ConsoleCut {
  readonly #path: string
  readonly #generation: number

  /** @param folder The Sandbox's, on the host. */
  constructor(folder: string, generation: number) {
    this.#path = join(folder, "console.json")
    this.#generation = generation
  }

  /** 0 where nothing was removed, or of another generation. */
  read(): number {
    const kept = Option.getOrNull(decode(readRecord(this.#path)))
    return kept?.generation === this.#generation ? kept.cutBytes : 0
  }

  /** Call it before the bytes are removed: after a crash in between they come once more, and nothing is lost. */
  keep(cutBytes: number): void {
    try {
      writeFileSync(`${this.#path}.partial`, JSON.stringify({ generation: this.#generation, cutBytes }))
      renameSync(`${this.#path}.partial`, this.#path)
    } catch {
      // The host's disk may be full. Only a service that starts would need it; the Sandbox's own disk needs the room.
    }
  }
}
