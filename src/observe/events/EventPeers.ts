/**
 * Notifies the processes of one database by NOTIFY of what each stores: the accounts that have new transitions, and the owners that have new output;
 * no content of either.
 *
 * A process sends notifications only while another one has open streams; that one announces this when its first stream opens and every few seconds
 * afterwards. Notifications are never part of the transaction that they are about, because all commits with notifications are serialized. So the
 * changes of some milliseconds are gathered into one notification. A process that hears of a new listener wakes it once, so that it reads what was
 * committed before.
 */
import type { PgClient } from "@effect/sql-pg"
import { Clock, Effect, Queue, type Scope } from "effect"
import { worker } from "../../platform/worker/Worker.ts"
import type { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import type { Notices } from "../../store/Notices.ts"

const channel = "atoll_transitions"
const announceEveryMs = 5000
const forgetAfterMs = 16_000
/** As many ids as fit into a notification of 8,000 bytes; with more, all streams are woken. */
const idsMax = 200

/** The words of one kind of notification: I listen, I stopped, I have news. */
interface Words {
  readonly listens: string
  readonly left: string
  readonly written: string
  /** The changes of this many milliseconds go into one notification. */
  readonly gatherMs: number
}

/** By account. */
const ofTransitions: Words = { listens: "listens", left: "left", written: "written", gatherMs: 5 }
/** By operation and by Sandbox. Output is stored far more often than transitions. */
const ofOutput: Words = { listens: "hears", left: "deaf", written: "stored", gatherMs: 20 }

/** Called with the owners for which another process has stored something, and when, in epoch milliseconds by its clock; null means all owners. */
export type Wake = (ids: ReadonlyArray<string> | null, at: number) => void

export interface News {
  /** Reports the owners for which this process has stored something. */
  readonly written: (ids: ReadonlyArray<string>) => void
  /** Reports that this process has open streams, or has none any more. */
  readonly listening: (listens: boolean) => void
}

export interface EventPeers {
  readonly transitions: News
  readonly output: News
}

export const eventPeers = Effect.fnUntraced(function* (
  sql: Pick<PgClient.PgClient, "notify">,
  notices: Notices["Service"],
  { untilServed }: DatabaseWatch["Service"],
  own: string,
  wakes: { readonly transitions: Wake; readonly output: Wake }
): Effect.fn.Return<EventPeers, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const outbox = yield* Queue.unbounded<string>()
  const say = (word: string) => void Queue.offerUnsafe(outbox, word)

  const newsOf = Effect.fnUntraced(function* (words: Words, wake: Wake) {
    const peers = new Map<string, number>()
    const gathered = new Set<string>()
    let gatheredSince = 0
    let listens = false
    const due = yield* Queue.sliding<void>(1)
    const flush = Effect.gen(function* () {
      yield* Queue.take(due)
      yield* Effect.sleep(words.gatherMs)
      const ids = [...gathered]
      gathered.clear()
      const whose = ids.length > idsMax ? "*" : ids.join(",")
      yield* untilServed(sql.notify(channel, `${words.written} ${own} ${whose} ${gatheredSince}`))
    })
    yield* worker(`${words.written} notices`, Effect.forever(flush))

    const announce = (): boolean => {
      if (listens) say(`${words.listens} ${own}`)
      return listens
    }
    const hear = (word: string, from: string, ids: string | undefined, at: string | undefined): void => {
      const now = clock.currentTimeMillisUnsafe()
      if (word === words.listens) {
        const isNew = (peers.get(from) ?? 0) < now
        peers.set(from, now + forgetAfterMs)
        if (isNew) say(`${words.written} ${own} *`)
      } else if (word === words.left) peers.delete(from)
      // A process of an earlier version does not send the time.
      else if (word === words.written) wake(ids === "*" ? null : ids!.split(","), Number(at ?? now))
    }
    const news: News = {
      written: (ids) => {
        if (peers.size === 0) return
        const now = clock.currentTimeMillisUnsafe()
        for (const [id, until] of peers) if (until < now) peers.delete(id)
        if (peers.size === 0) return
        if (gathered.size === 0) gatheredSince = now
        for (const id of ids) gathered.add(id)
        Queue.offerUnsafe(due, undefined)
      },
      listening: (now) => {
        if (listens === now) return
        listens = now
        say(`${now ? words.listens : words.left} ${own}`)
      }
    }
    return { news, announce, hear, wakeAll: () => wake(null, clock.currentTimeMillisUnsafe()) }
  })
  const transitions = yield* newsOf(ofTransitions, wakes.transitions)
  const output = yield* newsOf(ofOutput, wakes.output)
  const all = [transitions, output]

  const hear = (payload: string): void => {
    const [word, from, ids, at] = payload.split(" ")
    if (from === own) return
    if (word === "who") for (const { announce } of all) announce()
    else for (const one of all) one.hear(word!, from!, ids, at)
  }

  const listen = Effect.scoped(
    Effect.gen(function* () {
      const heard = yield* notices.listen(channel)
      const announce = Effect.gen(function* () {
        yield* Effect.sleep(announceEveryMs)
        for (const { announce } of all) announce()
      })
      const hears = Effect.gen(function* () {
        const notice = yield* Queue.take(heard)
        if (notice !== null) return hear(notice)
        say(`who ${own}`)
        for (const { announce } of all) announce()
        // Covers notifications that were missed without a connection.
        for (const { wakeAll } of all) wakeAll()
      })
      yield* Effect.raceFirst(Effect.forever(hears), Effect.forever(announce))
    })
  )
  yield* worker("event peers", listen)

  const tell = Effect.gen(function* () {
    const word = yield* Queue.take(outbox)
    yield* untilServed(sql.notify(channel, word))
  })
  yield* worker("event notices", Effect.forever(tell))

  return { transitions: transitions.news, output: output.news }
})
