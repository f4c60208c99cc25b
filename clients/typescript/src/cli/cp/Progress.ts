/** The progress of a copy, in the last line of a terminal; none if stderr is no terminal. */
import { cut, plain } from "../plainText.ts"
import { shownBytes } from "../table.ts"

const drawEveryMs = 100
const barColumns = 24

export class Progress {
  readonly #name: string
  readonly #totalBytes: number | null
  readonly #begun = performance.now()
  #drawnAt = 0
  #isDrawn = false

  /** @param totalBytes Null: unknown. */
  constructor(name: string, totalBytes: number | null) {
    this.#name = plain(name)
    this.#totalBytes = totalBytes
  }

  static get isSeen(): boolean {
    return process.stderr.isTTY === true
  }

  /** @param bytes So far. */
  at(bytes: number, about = ""): void {
    const now = performance.now()
    if (!Progress.isSeen || now - this.#drawnAt < drawEveryMs) return
    this.#drawnAt = now
    this.#draw(bytes, plain(about))
  }

  /** The line stays, with its last state. */
  done(bytes: number): void {
    if (!Progress.isSeen) return
    this.#draw(bytes, "")
    process.stderr.write("\n")
    this.#isDrawn = false
  }

  /** The copy failed; the next message begins a line. */
  stop(): void {
    if (this.#isDrawn) process.stderr.write("\n")
    this.#isDrawn = false
  }

  #draw(bytes: number, about: string): void {
    const seconds = Math.max(0.001, (performance.now() - this.#begun) / 1000)
    const speed = `${shownBytes(Math.round(bytes / seconds))}/s`
    const line = [this.#bar(bytes), shownBytes(bytes), speed, about === "" ? this.#name : `${this.#name}/${about}`]
    const text = cut(line.filter((part) => part !== "").join("  "), (process.stderr.columns || 80) - 1)
    process.stderr.write(`\r\x1b[K${text}`)
    this.#isDrawn = true
  }

  #bar(bytes: number): string {
    if (this.#totalBytes === null) return ""
    const share = this.#totalBytes === 0 ? 1 : Math.min(1, bytes / this.#totalBytes)
    const full = Math.round(share * barColumns)
    return `[${"#".repeat(full)}${"-".repeat(barColumns - full)}] ${String(Math.floor(share * 100)).padStart(3)}%`
  }
}
