/**
 * Follows the content of files: reports it at the start and after each change.
 *
 * Reads the files once a second, which also detects files that are swapped by a link or within the clock's resolution. Several files need not change
 * at the same moment. Content that is unusable leaves the previous one in use.
 */
import { Effect } from "effect"
import { worker } from "../platform/worker/Worker.ts"
import type { PeerUnusable } from "./PeerSockets.ts"

const lookEveryMs = 1000

export interface Followed<A> {
  readonly read: Effect.Effect<ReadonlyArray<string>, PeerUnusable>
  readonly parse: (texts: ReadonlyArray<string>) => Effect.Effect<A, PeerUnusable>
  /** A sentence for the log, without a secret. */
  readonly describe: (value: A) => string
}

/** Calls `use` before it returns, and at each change until the scope closes. */
export const followed = Effect.fnUntraced(function* <A>(
  { read, parse, describe }: Followed<A>,
  use: (value: A) => void
) {
  let used = yield* read
  const first = yield* parse(used)
  use(first)
  yield* Effect.log(describe(first))
  /** The fault of the last reading. The files may just be being written, so only a fault that is seen twice is reported. */
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
      return tells ? Effect.logWarning(`${message} The previous content goes on being used.`) : Effect.void
    })
  )
  yield* worker("fleet credentials", Effect.forever(Effect.andThen(Effect.sleep(lookEveryMs), look)))
})
