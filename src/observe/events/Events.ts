/**
 * Streams the transitions of an account, or of one of its Sandboxes with everything in it, as they are committed: each once, from a position on.
 *
 * Commits of this process wake the reader immediately, those of others by a notification. Without events there are no reads, except one with each
 * heartbeat. One read serves all woken accounts, and the events of each account serve all its streams.
 */
import { Context, Effect, Layer } from "effect"
import type { SqlClient } from "effect/sql"
import { CursorStale, InvalidRequest, type NotFound } from "../../../schemas/Errors.ts"
import { heartbeatSeconds } from "../../../schemas/Limits.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { ownSandbox } from "../../sandbox/ownSandbox.ts"
import { Actors } from "../../store/Actors.ts"
import { EventsDatabase, MaintenanceDatabase } from "../../store/Database.ts"
import { forAMoment } from "../../store/DatabaseFault.ts"
import { transitionEra } from "../../store/TransitionEra.ts"
import { readTransitions, type TransitionPosition } from "../../store/TransitionReads.ts"
import { AccountTail } from "./AccountTail.ts"
import { catchingUp } from "./catchingUp.ts"
import { EventReader } from "./EventReader.ts"
import { eventWakes } from "./eventWakes.ts"
import { openPosition, type PositionOwner } from "./Position.ts"
import { tailReading } from "./tailReading.ts"

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

/** The position that a client names; null: it names none. */
const positionOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { era, accountId }: PositionOwner,
  after: string | null
) {
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

/** The tails and the readers of this process's streams. */
const openStreams = Effect.fnUntraced(function* (era: string, heartbeatMs: number) {
  const sql = yield* EventsDatabase
  const tails = new Map<string, AccountTail>()
  const readers = new Set<EventReader>()
  const closeReaders = (tail: AccountTail): void => {
    for (const reader of [...readers]) if (reader.tail === tail) reader.close()
  }
  const reading = yield* tailReading(sql, closeReaders)
  const catchUp = yield* catchingUp(sql)
  const { peers, end } = yield* eventWakes(sql, tails, reading.wake)
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      end()
      for (const reader of [...readers]) reader.close()
    })
  )

  const beat = Effect.sync(() => {
    for (const tail of tails.values()) reading.wake(tail)
    for (const tail of tails.values()) for (const channel of tail.channels.values()) channel.trim()
    for (const reader of [...readers]) reader.beat()
  })
  yield* worker("event heartbeats", beat.pipe(Effect.delay(heartbeatMs), Effect.forever))

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
    reading.forget(tail)
    if (tails.size === 0) peers?.transitions.listening(false)
  }

  const read = (tail: AccountTail, sandboxId: string | null, after: TransitionPosition): EventStream => {
    const { accountId } = tail
    const reader: EventReader = new EventReader(
      {
        tail,
        channel: tail.channel(sandboxId),
        read: (from, then) => catchUp({ accountId, after: from, then }),
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

  return { tailOf, leave, untilKnown: reading.untilKnown, read }
})

const make = Effect.fnUntraced(function* ({ heartbeatMs }: { readonly heartbeatMs: number }) {
  const sql = yield* EventsDatabase
  const actors = yield* Actors
  const era = yield* Effect.orDie(transitionEra(yield* MaintenanceDatabase))
  const { tailOf, leave, untilKnown, read } = yield* openStreams(era, heartbeatMs)

  return Events.of({
    open: Effect.fn("Events.open")(function* ({ accountId, sandboxId, after }) {
      if (sandboxId !== null) yield* ownSandbox(actors, accountId, sandboxId)
      const position = yield* positionOf(sql, { era, accountId }, after)
      return yield* Effect.acquireUseRelease(
        Effect.sync(() => {
          const tail = tailOf(accountId)
          tail.opening++
          return tail
        }),
        (tail) => Effect.map(untilKnown(tail), () => read(tail, sandboxId, position ?? tail.upTo!)),
        (tail) =>
          Effect.sync(() => {
            tail.opening--
            leave(tail)
          })
      )
    })
  })
})
