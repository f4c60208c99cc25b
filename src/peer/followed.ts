/**
 * What files say, at the start and after each change of them.
 *
 * They are read once a second: files that are swapped by a link, or within the clock's grain, are then seen as well, and several need not change
 * in one moment. What cannot be used leaves the one from before in place.
 */
import { Effect } from "effect"
import { worker } from "../worker/Worker.ts"
import type { PeerUnusable } from "./PeerSockets.ts"

const lookEveryMs = 1000

export interface Followed<A> {
  readonly read: Effect.Effect<ReadonlyArray<string>, PeerUnusable>
  readonly parse: (texts: ReadonlyArray<string>) => Effect.Effect<A, PeerUnusable>
  /** For the log, when it is used: one sentence without a secret. */
  readonly describe: (value: A) => string
}

/** Calls `use` before it returns, and at each change for as long as the scope lasts. */
export const followed = Effect.fnUntraced(function* <A>(
  { read, parse, describe }: Followed<A>,
  use: (value: A) => void
) {
  let used = yield* read
  const first = yield* parse(used)
  use(first)
  yield* Effect.log(describe(first))
  /** Of the last look; the files are perhaps just being written, so only one that is seen twice is told. */
  let fault = { sentence: "", isTold: false }
  const look = Effect.gen(function* () {
    const found = yield* read
    if (found.some((text, index) => text !== used[index])) {
      const value = yield* parse(found)
      use(value)
      used = found
      yield* Effect.log(describe(value))
    }
    fault = { sentence: "", isTold: false }
  }).pipe(
    Effect.catchTag("PeerUnusable", ({ message }) => {
      const isSeenAgain = fault.sentence === message
      const tells = isSeenAgain && !fault.isTold
      fault = { sentence: message, isTold: isSeenAgain }
      return tells ? Effect.logWarning(`${message} What it said before goes on being used.`) : Effect.void
    })
  )
  yield* worker("fleet credentials", Effect.forever(Effect.andThen(Effect.sleep(lookEveryMs), look)))
})
