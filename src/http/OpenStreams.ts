/**
 * The streams that clients read here at the moment: bounded for each account over all processes (`HeldPlaces`), ended with their key or session, with the suspension of their
 * account, and with the service's stop. A stream was let in once and goes on for hours, so its key is looked at twice a second, all in one query.
 */
import { Clock, Context, Effect, Latch, Layer, Metric, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RateLimited } from "../../schemas/Errors.ts"
import { Settings } from "../Config.ts"
import { idleMaxMs, sessionMaxMs } from "../console/server/Sessions.ts"
import { LiveConnections } from "../gateway/LiveConnections.ts"
import { measuredGauge } from "../metric/measured.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { HeldPlaces, type Release } from "../store/HeldPlaces.ts"
import { worker } from "../worker/Worker.ts"

const lookEveryMs = 500
const askAgainSeconds = 5

const openNow = Metric.gauge("atoll_streams_open", {
  description: "Streams of events and of output, and terminals, that clients read here."
})

interface Open {
  readonly accountId: string
  /** A key, or a session. */
  readonly credentialId: string
  readonly end: () => void
}

export class OpenStreams extends Context.Service<
  OpenStreams,
  {
    /** Takes a place; `end` is called at most once, and never after the result was called, which gives the place back. */
    readonly open: (stream: Open) => Effect.Effect<() => void, RateLimited>
  }
>()("atoll/http/OpenStreams") {
  static readonly layer = Layer.effect(
    OpenStreams,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { streamsPerAccount } = yield* Settings
      const connections = yield* LiveConnections
      const places = yield* HeldPlaces
      /** What gives the place of each back. */
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
      }).pipe(Effect.catchCause((cause) => Effect.logWarning("The keys of open streams could not be looked at", cause)))
      yield* worker(
        "stream keys",
        some.await.pipe(Effect.andThen(Effect.sleep(lookEveryMs)), Effect.andThen(look), Effect.forever)
      )
      const unheard = connections.onStop(() => all().forEach(end))
      yield* Effect.addFinalizer(() =>
        Effect.sync(() => {
          unheard()
          all().forEach(end)
        })
      )

      return OpenStreams.of({
        open: (stream) =>
          Effect.flatMap(
            places.enter([{ subject: `streams ${stream.accountId}`, most: streamsPerAccount }]),
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
