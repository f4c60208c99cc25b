/**
 * The open streams of clients: bounded for each account over all processes (`ClusterSemaphore`). A stream ends with its key or session, with the
 * suspension of its account, and with the service's stop. A stream may last for hours, so all keys are checked twice a second, in one query.
 */
import { Clock, Context, Effect, Latch, Layer, Metric, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RateLimited } from "../../../schemas/Errors.ts"
import { Settings } from "../../Config.ts"
import { idleMaxMs, sessionMaxMs } from "../../console/server/Sessions.ts"
import { measuredGauge } from "../../platform/metric/measured.ts"
import { Shutdown } from "../../platform/shutdown/Shutdown.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { ClusterSemaphore } from "../../store/ClusterSemaphore.ts"
import { Int8, textColumn } from "../../store/Columns.ts"
import type { Release } from "../../store/HeldPermits.ts"

const lookEveryMs = 500
const askAgainSeconds = 5

const openNow = Metric.gauge("atoll_streams_open", {
  description: "Open streams of events and output, and terminals, of clients of this process."
})

interface Open {
  readonly accountId: string
  /** The id of a key or a session. */
  readonly credentialId: string
  readonly end: () => void
}

export class OpenStreams extends Context.Service<
  OpenStreams,
  {
    /** Takes a permit. `end` is called at most once, and never after the returned function, which releases the permit. */
    readonly open: (stream: Open) => Effect.Effect<() => void, RateLimited>
  }
>()("atoll/api/http/OpenStreams") {
  static readonly layer = Layer.effect(
    OpenStreams,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { streamsPerAccount } = yield* Settings
      const shutdown = yield* Shutdown
      const semaphore = yield* ClusterSemaphore
      /** The release function of each stream's permit. */
      const streams = new Map<Open, Release>()
      const some = yield* Latch.make()
      const all = () => [...streams.keys()]
      yield* measuredGauge(openNow, () => streams.size)

      const forget = (stream: Open): boolean => {
        const release = streams.get(stream)
        if (release === undefined) return false
        release()
        streams.delete(stream)
        if (streams.size === 0) some.closeUnsafe()
        return true
      }
      const end = (stream: Open): void => {
        if (forget(stream)) stream.end()
      }

      const findGood = SqlSchema.findAll({
        Request: Schema.Struct({
          credentialIds: Schema.Array(Schema.String),
          now: Int8,
          createdAfter: Int8,
          usedAfter: Int8
        }),
        Result: Schema.Struct({ id: Schema.String }),
        execute: ({ credentialIds, now, createdAfter, usedAfter }) => sql`
          select k.id from api_keys k join accounts a on a.id = k.account_id
          where k.id = any(${textColumn(credentialIds)}::text[]) and a.suspended_at is null
            and k.revoked_at is null and (k.expires_at is null or k.expires_at > ${now})
          union all
          select s.id from sessions s join accounts a on a.id = s.account_id
          where s.id = any(${textColumn(credentialIds)}::text[]) and a.suspended_at is null
            and s.ended_at is null and s.created_at > ${createdAfter} and s.last_used_at > ${usedAfter}`
      })

      const look = Effect.gen(function* () {
        const open = all()
        const now = yield* Clock.currentTimeMillis
        const good = yield* findGood({
          credentialIds: [...new Set(open.map(({ credentialId }) => credentialId))],
          now,
          createdAfter: now - sessionMaxMs,
          usedAfter: now - idleMaxMs
        })
        const ids = new Set(good.map(({ id }) => id))
        for (const stream of open) if (!ids.has(stream.credentialId)) end(stream)
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("Could not check the keys of open streams", cause)))
      yield* worker(
        "stream keys",
        some.await.pipe(Effect.andThen(Effect.sleep(lookEveryMs)), Effect.andThen(look), Effect.forever)
      )
      const unheard = shutdown.onBegin(() => all().forEach(end))
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          unheard()
          all().forEach(end)
        })
      )

      return OpenStreams.of({
        open: (stream) =>
          Effect.flatMap(
            semaphore.enter([{ subject: `streams ${stream.accountId}`, most: streamsPerAccount }]),
            (release) => {
              if (release === null) {
                return Effect.fail(
                  new RateLimited({
                    message: "The account has as many open streams as it may have. Close one, then try again.",
                    details: { retryAfterSeconds: askAgainSeconds }
                  })
                )
              }
              streams.set(stream, release)
              some.openUnsafe()
              return Effect.succeed(() => void forget(stream))
            }
          )
      })
    })
  )
}
