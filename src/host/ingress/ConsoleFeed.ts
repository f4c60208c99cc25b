/**
 * Delivers the consoles of this host's Sandboxes to one service at a time: the last one that asked.
 *
 * A driver delivers each byte once. The last bytes are therefore kept, and the next service to ask gets them again: a service whose connection broke,
 * or that died, may not have stored them. While no service asks, nothing is read, and the output stays in the drivers.
 */
import { Effect, Latch, type Scope, Stream } from "effect"
import { worker } from "../../platform/worker/Worker.ts"
import type { ConsoleChunk } from "../../runtime/Runtime.ts"

/** Bounds the bytes kept for repetition and the bytes that wait for delivery. */
const KEPT_MAX_BYTES = 1024 ** 2

const bytesOf = (chunks: ReadonlyArray<ConsoleChunk>): number =>
  chunks.reduce((sum, { bytes }) => sum + bytes.length, 0)

export const consoleFeed = (
  console: Stream.Stream<ConsoleChunk>
): Effect.Effect<Stream.Stream<ConsoleChunk>, never, Scope.Scope> =>
  Effect.gen(function* () {
    let waiting: Array<ConsoleChunk> = []
    let given: Array<ConsoleChunk> = []
    /** The last service that asked; null when none listens. */
    let listener: object | null = null
    const wake = Latch.makeUnsafe()
    const room = Latch.makeUnsafe()

    const look = () => {
      wake.openUnsafe()
      if (listener !== null && bytesOf(waiting) < KEPT_MAX_BYTES) room.openUnsafe()
      else room.closeUnsafe()
    }

    yield* worker(
      "console feed",
      room.await.pipe(
        Effect.andThen(
          Stream.runForEach(console, (chunk) => {
            waiting.push(chunk)
            look()
            return room.await
          })
        ),
        Effect.andThen(Effect.never)
      )
    )

    const take = (me: object) =>
      Effect.gen(function* () {
        for (;;) {
          if (listener !== me) return null
          if (waiting.length > 0) break
          wake.closeUnsafe()
          yield* wake.await
        }
        const chunks = waiting
        waiting = []
        given.push(...chunks)
        while (given.length > 1 && bytesOf(given) > KEPT_MAX_BYTES) given.shift()
        look()
        return chunks
      })

    return Stream.unwrap(
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const me = {}
            listener = me
            waiting = [...given, ...waiting]
            given = []
            look()
            return me
          }),
          (me) =>
            Effect.sync(() => {
              if (listener === me) listener = null
              look()
            })
        ),
        (me) =>
          Stream.fromEffectRepeat(take(me)).pipe(
            Stream.takeWhile((chunks) => chunks !== null),
            Stream.flattenIterable
          )
      )
    )
  })
