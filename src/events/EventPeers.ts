/**
 * What the processes of one database tell each other of their commits, by NOTIFY: whose transitions there are, and nothing of them.
 *
 * A process tells it only while another one has streams, which says so when its first one opens and every few seconds after that; and never
 * within the transaction that it is about, for all that notify commit one after the other. So what gathered in some milliseconds is one
 * notification. Whoever hears of a listener that it did not know wakes it once: what was committed before is read then.
 */
import type { PgClient } from "@effect/sql-pg"
import { Clock, Effect, Queue, type Scope } from "effect"
import type { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { worker } from "../worker/Worker.ts"

const channel = "atoll_transitions"
const gatherMs = 5
const announceEveryMs = 5000
const forgetAfterMs = 16_000
/** As many ids as fit into a notification of 8,000 bytes; for more: everybody. */
const accountsMax = 200

export interface EventPeers {
  /** Whose transitions this process has committed. */
  readonly committed: (accountIds: ReadonlyArray<string>) => void
  /** This process has streams from now on, or none any more. */
  readonly listening: (listens: boolean) => void
}

/** @param wake Told whose transitions another process has committed, and when, in epoch milliseconds by its clock; null: anybody's. */
export const eventPeers = Effect.fnUntraced(function* (
  sql: PgClient.PgClient,
  { untilServed }: DatabaseWatch["Service"],
  own: string,
  wake: (accountIds: ReadonlyArray<string> | null, at: number) => void
): Effect.fn.Return<EventPeers, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const peers = new Map<string, number>()
  const gathered = new Set<string>()
  let gatheredSince = 0
  const outbox = yield* Queue.unbounded<string>()
  let listens = false
  let heardOfMyselfAt = 0
  const say = (word: string) => void Queue.offerUnsafe(outbox, word)

  const hear = (payload: string): void => {
    const [word, from, accounts, at] = payload.split(" ")
    const now = clock.currentTimeMillisUnsafe()
    if (from === own) {
      heardOfMyselfAt = now
      return
    }
    if (word === "listens") {
      const isNew = (peers.get(from!) ?? 0) < now
      peers.set(from!, now + forgetAfterMs)
      if (isNew) say(`written ${own} *`)
    } else if (word === "left") peers.delete(from!)
    else if (word === "who" && listens) say(`listens ${own}`)
    // A process of a version before this one does not say when.
    else if (word === "written") wake(accounts === "*" ? null : accounts!.split(","), Number(at ?? now))
  }

  const listen = Effect.scoped(
    Effect.gen(function* () {
      const heard = yield* sql.listen(channel)
      say(`who ${own}`)
      heardOfMyselfAt = clock.currentTimeMillisUnsafe()
      // Whatever was said while nobody heard.
      wake(null, clock.currentTimeMillisUnsafe())
      const announce = Effect.gen(function* () {
        while (true) {
          say(`${listens ? "listens" : "who"} ${own}`)
          yield* Effect.sleep(announceEveryMs)
          // What one says comes back: a connection that carries nothing any more is found by that.
          if (clock.currentTimeMillisUnsafe() - heardOfMyselfAt > 3 * announceEveryMs) return
        }
      })
      const hears = Effect.forever(Effect.map(Queue.take(heard), ({ payload }) => hear(payload)))
      yield* Effect.raceFirst(hears, announce)
    })
  )
  yield* worker("event peers", untilServed(listen))

  const tell = Effect.gen(function* () {
    const word = yield* Queue.take(outbox)
    yield* untilServed(sql.notify(channel, word))
  })
  yield* worker("event notices", Effect.forever(tell))

  const due = yield* Queue.sliding<void>(1)
  const flush = Effect.gen(function* () {
    yield* Queue.take(due)
    yield* Effect.sleep(gatherMs)
    const ids = [...gathered]
    gathered.clear()
    const whose = ids.length > accountsMax ? "*" : ids.join(",")
    yield* untilServed(sql.notify(channel, `written ${own} ${whose} ${gatheredSince}`))
  })
  yield* worker("event notices gathered", Effect.forever(flush))

  return {
    committed: (accountIds) => {
      if (peers.size === 0) return
      const now = clock.currentTimeMillisUnsafe()
      for (const [id, until] of peers) if (until < now) peers.delete(id)
      if (peers.size === 0) return
      if (gathered.size === 0) gatheredSince = now
      for (const id of accountIds) gathered.add(id)
      Queue.offerUnsafe(due, undefined)
    },
    listening: (now) => {
      if (listens === now) return
      listens = now
      say(`${now ? "listens" : "left"} ${own}`)
    }
  }
})
