/**
 * Limits for joining hosts. A host has one connection, makes one call at a time, and beats a few times a second at most. An untrusted
 * host may have a valid certificate as well, and everything that it requests is work for the database that the whole fleet shares.
 */
import type { TLSSocket } from "node:tls"
import { Effect, Semaphore } from "effect"
import { BoundedMap } from "../store/BoundedMap.ts"

/** Two for one host, and one that is about to replace it. */
const perNameMax = 4
const allMax = 8192
/** Waiting calls of a connection. */
const callsMax = 16
/** Minimum interval; a beat takes at least as long. */
const callEveryMs = 50
/** Each join may cause a transition of the host's actor, with all its consequences. */
const joinEveryMs = 1_000
const namesMax = 10_000

interface Pace {
  callAt: number
  joinAt: number
}

interface Visitor {
  readonly socket: TLSSocket
  /** The name in its certificate; null: none. */
  readonly name: string | null
}

export type Call = "join" | "other"

export class JoinBounds {
  readonly #open = new Set<Visitor>()
  /** Rates by certificate name, so that a further connection gets no further rate. A host cannot use up the rate of another name. */
  readonly #paces = new BoundedMap<string, Pace>(namesMax)

  /** Admits a connection; at the limit it replaces the oldest of that host, or of all. Returns the function that runs its calls. */
  enter(socket: TLSSocket, name: string | null): <A, E>(what: Call, call: Effect.Effect<A, E>) => Effect.Effect<A, E> {
    const visitor = { socket, name }
    this.#open.add(visitor)
    socket.once("close", () => this.#open.delete(visitor))
    const named = name === null ? [] : [...this.#open].filter((it) => it.name === name)
    if (named.length > perNameMax) this.#cut(named[0]!)
    if (this.#open.size > allMax) this.#cut(this.#open.values().next().value!)
    const pace = (name === null ? undefined : this.#paces.get(name)) ?? { callAt: 0, joinAt: 0 }
    if (name !== null) this.#paces.set(name, pace)
    const turn = Semaphore.makeUnsafe(1)
    let calls = 0
    return (what, call) =>
      Effect.suspend(() => {
        if (calls >= callsMax) {
          socket.destroy()
          return Effect.interrupt
        }
        calls++
        return Effect.andThen(
          Effect.suspend(() => Effect.sleep(waitMs(pace, what))),
          call
        ).pipe(turn.withPermits(1), Effect.ensuring(Effect.sync(() => calls--)))
      })
  }

  #cut(visitor: Visitor): void {
    this.#open.delete(visitor)
    visitor.socket.destroy()
  }
}

/** Milliseconds until that call may run; reserves that time. */
const waitMs = (pace: Pace, what: Call): number => {
  const now = performance.now()
  const at = Math.max(now, pace.callAt, what === "join" ? pace.joinAt : 0)
  pace.callAt = at + callEveryMs
  if (what === "join") pace.joinAt = at + joinEveryMs
  return at - now
}
