/**
 * Detects that nothing more happens by itself: the database has no statement, and some passes of the event loop have
 * ended without one. A wait for the clock or at a gate is a wait for the test.
 */
import { Tracer } from "effect"

const stillTurns = 4
const stillWithinMs = 30_000

export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/**
 * A statement's span is named after the database, a transaction's is not: so by its kind, not by its name. A call of an actor's owner in another process
 * is of that kind, too, and may wait for as long as the clock stands.
 */
const isOfDatabase = ({ kind, name }: { readonly kind: Tracer.SpanKind; readonly name: string }) =>
  (kind === "client" && !name.includes(".client.")) || name === "sql.transaction"

export class Stillness {
  #open = 0
  #begun = 0
  #allEnded: (() => void) | null = null

  /** Counts the statements of every fiber that has it. */
  readonly tracer: Tracer.Tracer

  constructor() {
    const begin = () => {
      this.#open++
      this.#begun++
      let isOpen = true
      return () => {
        if (!isOpen) return
        isOpen = false
        if (--this.#open === 0) this.#allEnded?.()
      }
    }
    this.tracer = Tracer.make({
      span(options) {
        const span = new Tracer.NativeSpan(options)
        if (!isOfDatabase(options)) return span
        const end = begin()
        const { end: endSpan } = span
        span.end = (endTime, exit) => {
          end()
          endSpan.call(span, endTime, exit)
        }
        return span
      }
    })
  }

  /** Statements and transactions that were seen so far. */
  get begun(): number {
    return this.#begun
  }

  async reached(): Promise<void> {
    let still = 0
    let begun = this.#begun
    const end = performance.now() + stillWithinMs
    while (still < stillTurns) {
      if (performance.now() > end) throw new Error("The service does not come to rest although nothing is asked of it.")
      // Without a pass, which would repeat while the database works.
      if (this.#open > 0) await this.#ended(end - performance.now())
      await turn()
      still = this.#open === 0 && begun === this.#begun ? still + 1 : 0
      begun = this.#begun
    }
  }

  /** Resolves once the database has no statement, or when the time is over. */
  async #ended(withinMs: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const before = this.#allEnded
    this.#allEnded = () => {
      before?.()
      resolve()
    }
    const timer = setTimeout(resolve, withinMs)
    await promise
    clearTimeout(timer)
    this.#allEnded = null
  }
}
