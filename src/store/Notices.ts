/**
 * Notifications of other programs and processes (NOTIFY), all on one connection.
 *
 * A broken connection is replaced. Its subscribers then learn that they may have missed notifications, and read the tables that those
 * announced. A notification to itself detects an open connection that carries nothing.
 *
 * @source PostgreSQL "LISTEN", "NOTIFY"
 */
import { randomBytes } from "node:crypto"
import type { PgConnection } from "@effect/sql-pg"
import { Context, Deferred, Effect, Latch, Metric, Queue, Schedule, type Scope } from "effect"
import { ConnectionError, SqlError } from "effect/sql/SqlError"
import { CurrentWorker, waitMaxMs, worker } from "../platform/worker/Worker.ts"
import { isTransient, reasonOf } from "./DatabaseFault.ts"
import type { DatabaseWatch } from "./DatabaseWatch.ts"

const checkEveryMs = 5_000
/** The connection is replaced if it has not carried a notification to itself for so long. */
const deafAfterMs = 15_000
const untilConnected = Schedule.min([Schedule.exponential(50), Schedule.spaced(2000)])
const connectAgainMs = 50

const breaks = Metric.counter("atoll_notice_connection_breaks_total", {
  description: "How often the connection that carries notifications of other processes broke and was made again.",
  incremental: true
})

/** A notification's payload; null: listening has begun, and earlier notifications may have been missed. */
export type Notice = string | null

export class Notices extends Context.Service<
  Notices,
  {
    /**
     * Payloads of a channel, null first. The subscribing worker is `waiting` while the connection is down.
     */
    readonly listen: (channel: string) => Effect.Effect<Queue.Dequeue<Notice>, never, Scope.Scope>
  }
>()("atoll/store/Notices") {}

interface Subscriber {
  readonly channel: string
  readonly queue: Queue.Queue<Notice>
  /** Marks its worker as waiting; returns how to end that. */
  readonly wait: () => () => void
  /** Ends the wait; null while the connection listens. */
  endWait: (() => void) | null
}

const deaf = () =>
  new SqlError({
    reason: new ConnectionError({
      cause: new Error("the connection for notifications carries none"),
      operation: "listen"
    })
  })

/** @param connect Makes the connection, which closes with the scope. */
export const notices = Effect.fnUntraced(function* (
  connect: Effect.Effect<PgConnection.PgConnection, SqlError, Scope.Scope>,
  watch: DatabaseWatch["Service"]
): Effect.fn.Return<Notices["Service"], never, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const subscribers = new Set<Subscriber>()
  const some = yield* Latch.make()
  /** Why the connection broke while the database served; null during an outage. */
  let brokenBy: string | null = null
  /** Channels that the open connection must listen to; null: no connection is open. */
  let wanted: Queue.Queue<string> | null = null

  const tell = (channel: string, notice: Notice): void => {
    for (const subscriber of subscribers) {
      if (subscriber.channel !== channel) continue
      if (notice === null) {
        subscriber.endWait?.()
        subscriber.endWait = null
      }
      Queue.offerUnsafe(subscriber.queue, notice)
    }
  }

  /** Runs until the connection breaks. Calls `isOpen` once it listens. */
  const session = Effect.fnUntraced(function* (isOpen: () => void) {
    const connection = yield* Effect.flatMap(connect, ({ pin }) => pin).pipe(
      Effect.tapError((error) => {
        brokenBy = null
        return isTransient(error) ? watch.fault(error) : Effect.void
      }),
      Effect.retry({ schedule: untilConnected, while: isTransient })
    )
    const channels = yield* Queue.unbounded<string>()
    const broken = yield* Deferred.make<never, SqlError>()
    const followed = new Set<string>()

    const follow = Effect.fnUntraced(function* (channel: string, hear: (payload: string) => void) {
      const queue = yield* connection.listen(channel)
      yield* Effect.map(Queue.take(queue), ({ payload }) => hear(payload)).pipe(
        Effect.forever,
        Effect.catchCause((cause) => Deferred.failCause(broken, cause)),
        Effect.forkScoped
      )
    })

    const own = `atoll_self_${randomBytes(8).toString("hex")}`
    let heardSelfAt = performance.now()
    yield* follow(own, () => {
      heardSelfAt = performance.now()
    })
    const followWanted = Effect.gen(function* () {
      const channel = yield* Queue.take(channels)
      if (!followed.has(channel)) yield* follow(channel, (payload) => tell(channel, payload))
      followed.add(channel)
      tell(channel, null)
    })
    const check = Effect.gen(function* () {
      yield* Effect.sleep(checkEveryMs)
      if (performance.now() - heardSelfAt > deafAfterMs) return yield* deaf()
      yield* connection.query("select pg_notify($1, '')", [own])
    })

    yield* Effect.acquireRelease(
      Effect.sync(() => {
        wanted = channels
        for (const { channel } of subscribers) Queue.offerUnsafe(channels, channel)
        isOpen()
      }),
      () =>
        Effect.sync(() => {
          wanted = null
          for (const subscriber of subscribers) subscriber.endWait ??= subscriber.wait()
        })
    )
    if (brokenBy !== null)
      yield* Effect.logInfo(`The connection for notifications broke and was made again: ${brokenBy}`)
    brokenBy = null
    const work = Effect.raceFirst(Effect.forever(followWanted), Effect.forever(check))
    return yield* Effect.raceFirst(work, Deferred.await(broken))
  }, Effect.scoped)

  const listening = Effect.gen(function* () {
    const current = yield* CurrentWorker
    let endWait: (() => void) | null = null
    const wait = () => {
      endWait ??= current.wait("a connection to the database", waitMaxMs)
    }
    const isOpen = () => {
      endWait?.()
      endWait = null
    }
    // The command line has no subscribers, and needs no connection.
    yield* some.await
    const untilBroken = Effect.suspend(() => {
      wait()
      return session(isOpen)
    }).pipe(
      Effect.catchIf(isTransient, (error) =>
        Effect.sync(() => {
          breaks.updateUnsafe(1, context)
          brokenBy = watch.serves() ? reasonOf(error) : null
        })
      )
    )
    return yield* Effect.forever(Effect.andThen(untilBroken, Effect.sleep(connectAgainMs))).pipe(
      Effect.ensuring(Effect.sync(isOpen))
    )
  })
  breaks.updateUnsafe(0, context)
  yield* worker("notices", listening)

  return {
    listen: Effect.fnUntraced(function* (channel: string) {
      const current = yield* CurrentWorker
      const wait = () => current.wait("notifications of other processes", waitMaxMs)
      return yield* Effect.acquireRelease(
        Effect.map(Queue.unbounded<Notice>(), (queue) => {
          const subscriber: Subscriber = { channel, queue, wait, endWait: wait() }
          subscribers.add(subscriber)
          some.openUnsafe()
          if (wanted !== null) Queue.offerUnsafe(wanted, channel)
          return subscriber
        }),
        (subscriber) =>
          Effect.sync(() => {
            subscribers.delete(subscriber)
            subscriber.endWait?.()
          })
      ).pipe(Effect.map(({ queue }) => queue))
    })
  }
})

/** Runs `read` while the scope lasts: when listening begins, at each notification, and after a pause if `read` is not all done. */
export const readAtEachNotice = Effect.fnUntraced(function* <E, R>(
  { listen }: Notices["Service"],
  channel: string,
  read: Effect.Effect<boolean, E, R>,
  againAfterMs: number
) {
  const told = yield* listen(channel)
  let isAllDone = true
  while (true) {
    const next = Queue.take(told)
    yield* isAllDone ? next : Effect.timeoutOption(next, againAfterMs)
    // Each notification only says that there is something to read, so one read serves all of them.
    if (Queue.sizeUnsafe(told) > 0) yield* Queue.takeBetween(told, 1, Number.POSITIVE_INFINITY)
    isAllDone = yield* read
  }
})
