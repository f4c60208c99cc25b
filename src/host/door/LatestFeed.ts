/**
 * What is known of each Sandbox, by its last news: whoever listens is told all of it first, and then what changes. So a service that was cut off, or is new,
 * misses nothing; a slow one is told the last news of each, and holds up nobody.
 */
import { Effect, Latch, Stream } from "effect"

interface News {
  readonly sandboxId: string
  readonly generation: number
}

interface Listener {
  /** Sandboxes whose last news it has not been told. */
  readonly untold: Set<string>
  readonly wake: Latch.Latch
}

export class LatestFeed<A extends News> {
  readonly #latest = new Map<string, A>()
  readonly #listeners = new Set<Listener>()

  put(news: A): void {
    this.#latest.set(news.sandboxId, news)
    for (const { untold, wake } of this.#listeners) {
      untold.add(news.sandboxId)
      wake.openUnsafe()
    }
  }

  /** What was said of this generation, or of an older one, is over. */
  forget(sandboxId: string, generation: number): void {
    const known = this.#latest.get(sandboxId)
    if (known !== undefined && known.generation <= generation) this.#latest.delete(sandboxId)
  }

  readonly stream: Stream.Stream<A> = Stream.unwrap(
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => {
          const listener: Listener = { untold: new Set(this.#latest.keys()), wake: Latch.makeUnsafe(true) }
          this.#listeners.add(listener)
          return listener
        }),
        (listener) => Effect.sync(() => this.#listeners.delete(listener))
      ),
      (listener) => Stream.flattenIterable(Stream.fromEffectRepeat(this.#take(listener)))
    )
  )

  #take({ untold, wake }: Listener): Effect.Effect<ReadonlyArray<A>> {
    return Effect.map(wake.await, () => {
      wake.closeUnsafe()
      const news = [...untold].flatMap((sandboxId) => this.#latest.get(sandboxId) ?? [])
      untold.clear()
      return news
    })
  }
}
