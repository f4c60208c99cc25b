/**
 * How many bytes at the beginning of a generation's console were removed: `console.json` in the Sandbox's folder. A service that starts counts on from there.
 * Without it, it would take later bytes for those that the log has.
 */
import { readFileSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Option, Schema } from "effect"

const Kept = Schema.fromJsonString(Schema.Struct({ generation: Schema.Int, cutBytes: Schema.Int }))
const decode = Schema.decodeUnknownOption(Kept)

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
    try {
      const kept = Option.getOrNull(decode(readFileSync(this.#path, "utf8")))
      return kept?.generation === this.#generation ? kept.cutBytes : 0
    } catch {
      return 0
    }
  }

  /** Call it before the bytes are removed: after a crash in between they come once more, and nothing is lost. */
  keep(cutBytes: number): void {
    writeFileSync(`${this.#path}.partial`, JSON.stringify({ generation: this.#generation, cutBytes }))
    renameSync(`${this.#path}.partial`, this.#path)
  }
}
