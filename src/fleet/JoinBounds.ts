/**
 * What whoever joins may ask of a service. A host has one connection, makes one call at a time, and beats a few times a second at most; one that is not to be
 * trusted has a true certificate as well, and everything that it asks for is work of the database that all of the fleet share.
 */
import type { TLSSocket } from "node:tls"
import { Effect, Semaphore } from "effect"
import { BoundedMap } from "../store/BoundedMap.ts"

/** Two that are one, and one that is about to take its place. */
const perNameMax = 4
const allMax = 8192
/** Of a connection: they wait for their turn. */
const callsMax = 16
/** What a host is told at the least is as long. */
const callEveryMs = 50
/** Each may be a transition of the host's actor, with all that follows. */
const joinEveryMs = 1_000
const namesMax = 10_000

interface Pace {
  callAt: number
  joinAt: number
}

interface Visitor {
  readonly socket: TLSSocket
  /** By its certificate; null: it says none. */
  readonly name: string | null
}

export type Call = "join" | "other"

export class JoinBounds {
  readonly #open = new Set<Visitor>()
  /** By names of certificates, so that another connection is no other host. Nobody else's pace is anybody's who can say a name. */
  readonly #paces = new BoundedMap<string, Pace>(namesMax)

  /** A connection is let in, in the place of the oldest of that host, or of all, where there are enough. Returns how its calls are made. */
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

/** Until that call may be made, which it is then. */
const waitMs = (pace: Pace, what: Call): number => {
  const now = performance.now()
  const at = Math.max(now, pace.callAt, what === "join" ? pace.joinAt : 0)
  pace.callAt = at + callEveryMs
  if (what === "join") pace.joinAt = at + joinEveryMs
  return at - now
}
