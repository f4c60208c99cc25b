/** Two connections made one: bytes both ways at the pace of who reads them, an end or a break of either at once to the other. */
import type { Duplex } from "node:stream"
import { Effect } from "effect"

/** How long what one has said before it closed may take to reach the other. */
const FLUSH_MS = 10_000

/** Returns when both have closed; closes both when it is interrupted. Nothing is held but Node's own buffers. */
export const splice = (one: Duplex, other: Duplex): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    const timers: Array<NodeJS.Timeout> = []
    const passOn = (from: Duplex, to: Duplex) => {
      from.on("error", () => {})
      from.pipe(to)
      const closed = () => {
        if (to.destroyed) return resume(Effect.void)
        if (!from.readableEnded) return void to.destroy()
        timers.push(setTimeout(() => to.destroy(), FLUSH_MS))
        to.end(() => to.destroy())
      }
      if (from.destroyed) closed()
      else from.once("close", closed)
    }
    passOn(one, other)
    passOn(other, one)
    return Effect.sync(() => {
      one.destroy()
      other.destroy()
    })
  })
