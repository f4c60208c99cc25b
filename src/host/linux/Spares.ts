/**
 * Spares: Sandboxes that are started ahead, without an owner. A Sandbox that gets one waits for no boot.
 *
 * A bounded number for each shape: as many as were asked for lately, between `min` and `max`, since many clients create several together. They
 * count in the host's admission like any other, are given up as soon as a Sandbox needs their room, and end with the service. The driver makes and
 * ends them, and finds those that a killed service left.
 */
import { Clock, Effect, Fiber } from "effect"
import type { RuntimeRefused, RuntimeUnavailable } from "../../runtime/Runtime.ts"

interface Kind<S> {
  readonly ready: Array<S>
  making: Fiber.Fiber<void> | null
  /** A caller waits for the spare that is being made. */
  awaited: boolean
  /** A refill waits for its time. */
  delayed: boolean
  /** When the last Sandboxes of this shape were asked for, in ms; as many as there can be spares. */
  claims: ReadonlyArray<number>
}

/** How long a Sandbox that was asked for keeps a spare for the next one. */
const LATELY_MS = 600_000

export interface SparesOptions<Shape, S> {
  /** The number for each shape while none is asked for; 0: none at any time. */
  readonly min: number
  /** The number for each shape while many are asked for. Default: `min`. */
  readonly max?: number
  /** A Sandbox that has just started is busy with its first commands; the next spare waits that long. */
  readonly refillAfterMs: number
  /** True while Sandboxes with an owner boot. No spare is made then: it would take the processors from them. Default: never. */
  readonly isBusy?: () => boolean
  /** Must not wait for anything that a start which drops spares may hold. */
  readonly make: (shape: Shape) => Effect.Effect<S, RuntimeRefused | RuntimeUnavailable>
  readonly discard: (spare: S) => Effect.Effect<void>
  /** Resolves when the spare has ended by itself. */
  readonly ended: (spare: S) => Promise<unknown>
  /** Runs an effect in the background, independently of the caller. */
  readonly fork: <A>(effect: Effect.Effect<A>) => Fiber.Fiber<A>
}

export class Spares<Shape, S> {
  private readonly kinds = new Map<string, Kind<S>>()
  private readonly options: SparesOptions<Shape, S>
  private closed = false

  constructor(options: SparesOptions<Shape, S>) {
    this.options = options
  }

  /** A spare for this caller alone; waits for one that is being made. Null when none will be ready soon. */
  claim(shape: Shape): Effect.Effect<S | null> {
    const kind = this.kindOf(shape)
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      kind.claims = [now, ...kind.claims].slice(0, this.max)
      const spare = kind.ready.shift()
      if (spare !== undefined) return Effect.succeed(spare)
      if (kind.making === null || kind.awaited) return Effect.succeed(null)
      kind.awaited = true
      return Fiber.await(kind.making).pipe(
        Effect.map(() => kind.ready.shift() ?? null),
        Effect.ensuring(
          Effect.sync(() => {
            kind.awaited = false
          })
        )
      )
    })
  }

  /** Makes the missing spares, after a delay, one at a time, and between the boots of Sandboxes with an owner. Returns immediately. */
  refill(shape: Shape): Effect.Effect<void> {
    const kind = this.kindOf(shape)
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      if (kind.delayed || !this.isMissing(kind, now)) return Effect.void
      kind.delayed = true
      const delay = Effect.repeat(Effect.sleep(this.options.refillAfterMs), { while: () => this.isBusy() })
      const due = Effect.map(Clock.currentTimeMillis, (now) => {
        kind.delayed = false
        this.make(kind, shape, now)
      })
      return Effect.asVoid(Effect.forkDetach(Effect.andThen(delay, due)))
    })
  }

  /** Makes one spare in the background, then the next one. */
  private make(kind: Kind<S>, shape: Shape, now: number): void {
    if (!this.isMissing(kind, now)) return
    // Starts after `making` is set: an immediate failure must find it.
    const made = Effect.andThen(Effect.yieldNow, this.options.make(shape)).pipe(
      Effect.flatMap((spare) =>
        this.closed ? this.options.discard(spare) : Effect.sync(() => this.keep(kind, spare))
      ),
      Effect.as(true),
      // A full host has no room for spares.
      Effect.catchTag("RuntimeRefused", () => Effect.succeed(false)),
      Effect.catchTag("RuntimeUnavailable", ({ message }) =>
        Effect.as(Effect.logWarning(`No Sandbox could be started ahead: ${message}`), false)
      ),
      Effect.flatMap((again) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          kind.making = null
          if (again && this.isBusy()) return this.refill(shape)
          if (again) this.make(kind, shape, now)
          return Effect.void
        })
      )
    )
    kind.making = this.options.fork(made)
  }

  /** Drops all spares, including one that is being made. True when that made room. */
  readonly drop: Effect.Effect<boolean> = Effect.gen({ self: this }, function* () {
    for (const { making } of this.kinds.values()) if (making !== null) yield* Fiber.await(making)
    const spares = [...this.kinds.values()].flatMap(({ ready }) => ready.splice(0))
    yield* Effect.forEach(spares, this.options.discard, { discard: true, concurrency: "unbounded" })
    return spares.length > 0
  })

  /** Drops the spares that were kept for many Sandboxes, once few are asked for. */
  readonly dropUnused: Effect.Effect<void> = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const unused = [...this.kinds.values()].flatMap((kind) => kind.ready.splice(this.wanted(kind, now)))
    return Effect.forEach(unused, this.options.discard, { discard: true })
  })

  /** Drops all spares and makes no more. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.closed = true
    return Effect.asVoid(this.drop)
  })

  private isBusy(): boolean {
    return this.options.isBusy?.() ?? false
  }

  private get max(): number {
    const { min, max = min } = this.options
    return min === 0 ? 0 : Math.max(min, max)
  }

  private wanted({ claims }: Kind<S>, now: number): number {
    return Math.max(this.options.min, claims.filter((at) => at > now - LATELY_MS).length)
  }

  private isMissing(kind: Kind<S>, now: number): boolean {
    return !this.closed && kind.making === null && kind.ready.length < this.wanted(kind, now)
  }

  private kindOf(shape: Shape): Kind<S> {
    const key = JSON.stringify(shape)
    const kind: Kind<S> = this.kinds.get(key) ?? { ready: [], making: null, awaited: false, delayed: false, claims: [] }
    this.kinds.set(key, kind)
    return kind
  }

  private keep(kind: Kind<S>, spare: S): void {
    kind.ready.push(spare)
    // A spare that dies while it waits is removed.
    void this.options.ended(spare).then(() => {
      const at = kind.ready.indexOf(spare)
      if (at < 0) return
      kind.ready.splice(at, 1)
      this.options.fork(this.options.discard(spare))
    })
  }
}
