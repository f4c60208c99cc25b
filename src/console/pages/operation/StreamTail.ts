/**
 * The last bytes of one output stream as text, in pieces. Only the newest piece changes, so that the browser
 * does not draw the others again.
 */
import { InertText, type Run } from "./inertText.ts"

export interface Piece {
  /** Absolute byte offsets. */
  readonly from: number
  readonly to: number
  /** Null: the service has deleted these bytes. */
  readonly runs: ReadonlyArray<Run> | null
}

export const keptBytes = 128 * 1024
const pieceBytes = 8 * 1024
/** Maximum for one piece: further colours in it are dropped. */
const runsMax = 256

const joined = (before: ReadonlyArray<Run>, more: ReadonlyArray<Run>): ReadonlyArray<Run> => {
  const runs = [...before]
  for (const run of more) {
    const last = runs.at(-1)
    if (last !== undefined && (last.look === run.look || runs.length >= runsMax)) {
      runs[runs.length - 1] = { text: last.text + run.text, look: last.look }
    } else runs.push(run)
  }
  return runs
}

export class StreamTail {
  #pieces: Array<Piece> = []
  #decoder = new TextDecoder()
  #text = new InertText()
  #end: number

  /** @param from The offset of the first wanted byte. */
  constructor(from: number) {
    this.#end = from
  }

  /** The offset after all received bytes. */
  get end(): number {
    return this.#end
  }

  /** Earlier pieces are dropped. */
  get pieces(): ReadonlyArray<Piece> {
    return this.#pieces
  }

  /** Ignores known bytes; missing bytes become a gap. */
  append(offset: number, bytes: Uint8Array): void {
    if (offset > this.#end) {
      this.finish()
      this.#pieces.push({ from: this.#end, to: offset, runs: null })
      this.#end = offset
    }
    let rest = bytes.subarray(this.#end - offset)
    while (rest.length > 0) {
      const last = this.#pieces.at(-1)
      const open = last?.runs != null && last.to - last.from < pieceBytes ? last : null
      const taken = rest.subarray(0, open === null ? pieceBytes : pieceBytes - (open.to - open.from))
      rest = rest.subarray(taken.length)
      const runs = this.#text.read(this.#decoder.decode(taken, { stream: true }))
      const to = this.#end + taken.length
      if (open === null) this.#pieces.push({ from: this.#end, to, runs: joined([], runs) })
      else this.#pieces[this.#pieces.length - 1] = { from: open.from, to, runs: joined(open.runs!, runs) }
      this.#end = to
    }
    const first = this.#pieces.findIndex(({ to }) => this.#end - to < keptBytes)
    if (first > 0) this.#pieces = this.#pieces.slice(first)
  }

  /** No bytes follow: incomplete characters and sequences are shown as they are. */
  finish(): void {
    const runs = [...this.#text.read(this.#decoder.decode()), ...this.#text.end()]
    this.#decoder = new TextDecoder()
    this.#text = new InertText()
    const last = this.#pieces.at(-1)
    if (runs.length === 0 || last?.runs == null) return
    this.#pieces[this.#pieces.length - 1] = { ...last, runs: joined(last.runs, runs) }
  }
}
