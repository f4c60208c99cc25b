/**
 * Keeps the latest news of each Sandbox. A new listener gets all of it first, and then the changes. So a service that was cut off, or is new, misses
 * nothing. A slow service gets only the latest news of each Sandbox, and delays no other.
 */
import { Effect, Latch, Stream } from "effect"

interface News {
  readonly sandboxId: string
  readonly generation: number
}

interface Listener {
  /** Sandboxes whose latest news this listener has not received. */
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

  /** Drops the news of this generation and of older ones. */
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
