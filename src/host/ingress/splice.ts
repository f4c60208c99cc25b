/** Joins two connections: passes bytes both ways with backpressure, and an end or a break of either side immediately to the other. */
import type { Duplex } from "node:stream"
import { Effect } from "effect"

/** How long the last bytes of a closed side may take to reach the other side. */
const FLUSH_MS = 10_000

/** Completes when both have closed; closes both when it is interrupted. Holds no bytes beyond Node's own buffers. */
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
