/** This process's stdin, read at the pace of its reader. */
import type { Readable } from "node:stream"
import { sleep } from "../http/sleep.ts"

/** The bytes that are read ahead. */
const aheadBytes = 1024 * 1024

export class Input {
  readonly #stream: Readable
  #chunks: Array<Uint8Array> = []
  #bytes = 0
  #isOver = false
  #told = () => {}

  constructor(stream: Readable) {
    this.#stream = stream
    const over = () => {
      this.#isOver = true
      this.#told()
    }
    stream.on("data", (chunk: Uint8Array) => {
      this.#chunks.push(chunk)
      this.#bytes += chunk.length
      if (this.#bytes >= aheadBytes) stream.pause()
      this.#told()
    })
    // An unreadable stdin (a directory, a terminal that is gone) counts as ended.
    for (const end of ["end", "close", "error"]) stream.once(end, over)
  }

  get hasCome(): boolean {
    return this.#bytes > 0
  }

  /** All of it, if it ends within the time and the bound; else null, and it can still be read. */
  async whole(mostBytes: number, withinMs: number): Promise<Uint8Array | null> {
    const until = Date.now() + withinMs
    while (!this.#isOver && this.#bytes <= mostBytes && Date.now() < until) await this.#more(until - Date.now())
    return this.#isOver && this.#bytes <= mostBytes ? this.#gathered() : null
  }

  /** The bytes since the last call, once there are any; null: it has ended. */
  async take(): Promise<Uint8Array | null> {
    while (this.#bytes === 0 && !this.#isOver) await this.#more()
    if (this.#bytes === 0) return null
    const taken = this.#gathered()
    this.#stream.resume()
    return taken
  }

  stop(): void {
    this.#stream.destroy()
  }

  #gathered(): Uint8Array {
    const all = Buffer.concat(this.#chunks)
    this.#chunks = []
    this.#bytes = 0
    return all
  }

  async #more(withinMs?: number): Promise<void> {
    const told = new Promise<void>((resolve) => {
      this.#told = resolve
    })
    await (withinMs === undefined ? told : Promise.race([told, sleep(withinMs, undefined)]))
  }
}
