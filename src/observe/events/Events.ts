/**
 * Streams the transitions of an account, or of one of its Sandboxes with everything in it, as they are committed: each once, from a position on.
 *
 * Commits of this process wake the reader immediately, those of others by a notification. Without events there are no reads, except one with each
 * heartbeat. One read serves all woken accounts, and the events of each account serve all its streams.
 */

import { randomUUID } from "node:crypto"
import { Clock, Context, Effect, Latch, Layer, Queue } from "effect"
import { CursorStale, InvalidRequest, type NotFound } from "../../../schemas/Errors.ts"
import { heartbeatSeconds } from "../../../schemas/Limits.ts"
import { Settings } from "../../Config.ts"
import { vitalWorker, worker } from "../../platform/worker/Worker.ts"
import { ownSandbox } from "../../sandbox/ownSandbox.ts"
import { Actors } from "../../store/Actors.ts"
import { EventsDatabase, MaintenanceDatabase } from "../../store/Database.ts"
import { forAMoment } from "../../store/DatabaseFault.ts"
import { DatabaseWatch } from "../../store/DatabaseWatch.ts"
import { Journal } from "../../store/Journal.ts"
import { Notices } from "../../store/Notices.ts"
import { Output } from "../../store/Output.ts"
import { transitionEra } from "../../store/TransitionEra.ts"
import { readTransitions, type TransitionPage, type TransitionPosition } from "../../store/TransitionReads.ts"
import { AccountTail } from "./AccountTail.ts"
import { eventPeers } from "./EventPeers.ts"
import { EventReader } from "./EventReader.ts"
import { openPosition } from "./Position.ts"

/** Pause between two reads of the tail: commits in between are read together. */
const paceMs = 3
/** Events that are held up are read again after this pause, which then grows. */
const heldFirstMs = 1
const heldMaxMs = 50
const tailsMax = 256
/** Each may be half a megabyte. */
const catchUpsMax = 8

export interface EventStream {
  /** Calls back once with whole server-sent events, or with null when the stream is over. Must not be called again before it has called back. */
  readonly next: (then: (piece: Buffer | null) => void) => void
  readonly close: () => void
}

export interface WatchRequest {
  readonly accountId: string
  /** Null means the whole account. */
  readonly sandboxId: string | null
  /** As in an event's `id`; null means from now on. */
  readonly after: string | null
}

const stale = () =>
  new CursorStale({
    message:
      "Events since this position are no longer kept. Read what you watch again, then open the stream without a position."
  })

const malformed = () =>
  new InvalidRequest({
    details: { issues: [{ path: ["after"], message: "Expected the id of an event, unchanged" }] }
  })

export class Events extends Context.Service<
  Events,
  {
    /** The caller closes the stream when it has no reader any more. */
    readonly open: (request: WatchRequest) => Effect.Effect<EventStream, NotFound | CursorStale | InvalidRequest>
  }
>()("atoll/observe/events/Events") {
  static readonly layer = (options: { readonly heartbeatMs: number } = { heartbeatMs: heartbeatSeconds * 1000 }) =>
    Layer.effect(Events, make(options))
}

const make = Effect.fnUntraced(function* ({ heartbeatMs }: { readonly heartbeatMs: number }) {
  const sql = yield* EventsDatabase
  const actors = yield* Actors
  const journal = yield* Journal
  const output = yield* Output
  const watch = yield* DatabaseWatch
  const { clusterPort } = yield* Settings
  const clock = yield* Clock.Clock
  const era = yield* Effect.orDie(transitionEra(yield* MaintenanceDatabase))
  const tails = new Map<string, AccountTail>()
  const readers = new Set<EventReader>()

  // --- the tail -----------------------------------------------------------------------------------------------------

  const woken = new Set<AccountTail>()
  const someWoken = yield* Latch.make()
  const wake = (tail: AccountTail | undefined): void => {
    if (tail === undefined) return
    woken.add(tail)
    someWoken.openUnsafe()
  }
  const wakeAll = () => {
    for (const tail of tails.values()) wake(tail)
  }

  /** @param at The time of the commit, in epoch milliseconds. */
  const wakeFor = (tail: AccountTail | undefined, at: number): void => {
    tail?.lag.committed(at)
    wake(tail)
  }

  /** Callbacks for the first read of a tail. */
  const waiting = new Map<AccountTail, Array<() => void>>()

  let heldMs = heldFirstMs
  const readTail = Effect.gen(function* () {
    yield* someWoken.await
    const due = [...woken].slice(0, tailsMax)
    for (const tail of due) woken.delete(tail)
    if (woken.size === 0) someWoken.closeUnsafe()
    const read = Effect.suspend(() =>
      readTransitions(
        sql,
        due.map(({ accountId, upTo }) => ({ accountId, after: upTo }))
      )
    )
    const startedAt = clock.currentTimeMillisUnsafe()
    const observed = due.map(({ lag }) => lag.reading(startedAt))
    const again = Effect.sync(() => {
      for (const observe of observed) observe({ told: 0, isAll: false, now: startedAt })
      due.forEach(wake)
    })
    const pages = yield* watch.untilServed(read).pipe(Effect.tapError(() => again))
    let isHeld = false
    pages.forEach((page, index) => {
      const tail = due[index]!
      if (page.isStale) {
        // Impossible while the service runs: retention keeps days, and the tail lags by moments.
        for (const reader of [...readers]) if (reader.tail === tail) reader.close()
        return
      }
      tail.take(page)
      const isAll = !page.isFull && !page.isHeld
      observed[index]!({ told: page.rows.length, isAll, now: clock.currentTimeMillisUnsafe() })
      if (!isAll) wake(tail)
      isHeld ||= page.isHeld && !page.isFull
      for (const told of waiting.get(tail) ?? []) told()
      waiting.delete(tail)
    })
    if (isHeld) {
      yield* Effect.sleep(heldMs)
      heldMs = Math.min(heldMs * 2, heldMaxMs)
    } else {
      heldMs = heldFirstMs
      yield* Effect.sleep(paceMs)
    }
  })
  yield* vitalWorker("event tail", Effect.forever(readTail))

  // --- readers that are behind ------------------------------------------------------------------------------------------------

  interface CatchUp {
    readonly accountId: string
    readonly after: TransitionPosition
    readonly then: (page: TransitionPage | null) => void
  }
  const catchUps = yield* Queue.unbounded<CatchUp>()
  const catchUp = Effect.gen(function* () {
    const asked = yield* Queue.takeBetween(catchUps, 1, catchUpsMax)
    const pages = yield* readTransitions(sql, asked).pipe(
      Effect.retry(forAMoment),
      Effect.catchCause((cause) => Effect.as(Effect.logWarning("Events could not be read", cause), null))
    )
    asked.forEach(({ then }, index) => {
      then(pages?.[index] ?? null)
    })
  })
  yield* vitalWorker("event catch-up", Effect.forever(catchUp))

  // --- wake-ups -----------------------------------------------------------------------------------------------------

  const peers =
    clusterPort === 0
      ? null
      : yield* eventPeers(sql, yield* Notices, watch, randomUUID(), {
          transitions: (accountIds, at) => {
            if (accountIds === null) return wakeAll()
            for (const id of accountIds) wakeFor(tails.get(id), at)
          },
          output: output.storedElsewhere
        })
  const unheard = journal.onWritten((accountIds) => {
    peers?.transitions.written(accountIds)
    if (tails.size === 0) return
    const now = clock.currentTimeMillisUnsafe()
    for (const id of accountIds) wakeFor(tails.get(id), now)
  })
  const unstored = peers === null ? () => {} : output.meetOthers(peers.output)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      unheard()
      unstored()
      for (const reader of [...readers]) reader.close()
    })
  )

  const beat = Effect.sync(() => {
    wakeAll()
    for (const tail of tails.values()) for (const channel of tail.channels.values()) channel.trim()
    for (const reader of [...readers]) reader.beat()
  })
  yield* worker("event heartbeats", beat.pipe(Effect.delay(heartbeatMs), Effect.forever))

  // --- streams ------------------------------------------------------------------------------------------------------

  const tailOf = (accountId: string): AccountTail => {
    const known = tails.get(accountId)
    if (known !== undefined) return known
    const tail = new AccountTail(accountId, era)
    tails.set(accountId, tail)
    peers?.transitions.listening(true)
    return tail
  }

  /** Stops following a tail without readers. */
  const leave = (tail: AccountTail): void => {
    for (const [key, channel] of tail.channels) if (channel.readers.size === 0) tail.channels.delete(key)
    if (tail.channels.size > 0 || tail.opening > 0) return
    if (tails.get(tail.accountId) === tail) tails.delete(tail.accountId)
    woken.delete(tail)
    waiting.delete(tail)
    if (tails.size === 0) peers?.transitions.listening(false)
  }

  const known = (tail: AccountTail): Effect.Effect<void> =>
    tail.upTo !== null
      ? Effect.void
      : watch.patiently<void, never>((resume) => {
          waiting.set(tail, [...(waiting.get(tail) ?? []), () => resume(Effect.void)])
          wake(tail)
        })

  const positionOf = Effect.fnUntraced(function* (accountId: string, after: string | null) {
    if (after === null) return null
    const position = openPosition({ era, accountId }, after)
    if (position === null) return yield* malformed()
    if (position === "stale") return yield* stale()
    const [page] = yield* readTransitions(sql, [{ accountId, after: position }]).pipe(
      Effect.retry(forAMoment),
      Effect.orDie
    )
    return page!.isStale ? yield* stale() : position
  })

  const read = (tail: AccountTail, sandboxId: string | null, after: TransitionPosition): EventStream => {
    const { accountId } = tail
    const reader: EventReader = new EventReader(
      {
        tail,
        channel: tail.channel(sandboxId),
        read: (from, then) => void Queue.offerUnsafe(catchUps, { accountId, after: from, then }),
        closed: () => {
          readers.delete(reader)
          leave(tail)
        }
      },
      sandboxId,
      after
    )
    readers.add(reader)
    return reader
  }

  return Events.of({
    open: Effect.fn("Events.open")(function* ({ accountId, sandboxId, after }) {
      if (sandboxId !== null) yield* ownSandbox(actors, accountId, sandboxId)
      const position = yield* positionOf(accountId, after)
      return yield* Effect.acquireUseRelease(
        Effect.sync(() => {
          const tail = tailOf(accountId)
          tail.opening++
          return tail
        }),
        (tail) => Effect.map(known(tail), () => read(tail, sandboxId, position ?? tail.upTo!)),
        (tail) =>
          Effect.sync(() => {
            tail.opening--
            leave(tail)
          })
      )
    })
  })
})
