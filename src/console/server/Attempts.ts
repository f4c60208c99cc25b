/**
 * Rate limits on attempts: a burst, and then a steady rate. One row for each subject and one statement for each attempt, so the
 * limit holds over all processes and under concurrency; the clock is the database's.
 *
 * @source ITU-T I.371, the generic cell rate algorithm: `paid_until` is its theoretical arrival time
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { RateLimited } from "../../../schemas/Errors.ts"
import { Int8 } from "../../store/Columns.ts"

export interface Rate {
  readonly inARow: number
  /** Interval after the burst. */
  readonly everyMs: number
}

/** For an address, all kinds of attempts. An untrusted proxy is one address, so this limits all of its clients together. */
export const addressRate: Rate = { inARow: 60, everyMs: 2000 }
/** For passphrase attempts from one address on one e-mail or account: 1440 a day in the long run. */
export const passphraseRate: Rate = { inARow: 10, everyMs: 60_000 }
/** For passphrase attempts on one e-mail from all addresses that have not signed in to its account before: 4320 a day in the long run. */
export const strangersRate: Rate = { inARow: 60, everyMs: 20_000 }
/** For creation of keys in an account. */
export const keyRate: Rate = { inARow: 60, everyMs: 10_000 }

/** For tickets of an account. */
export const ticketRate: Rate = { inARow: 60, everyMs: 1000 }

/** A client with one IPv6 address usually has 2^64 of them. */
export const addressSubject = (address: string): string => {
  if (!address.includes(":")) return `address ${address}`
  const [head = "", tail = ""] = address.split("%", 1)[0]!.split("::")
  const before = head === "" ? [] : head.split(":")
  const after = tail === "" ? [] : tail.split(":")
  const groups = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => "0"), ...after]
  return `address ${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":")}::/64`
}

const keptMs = 60_000

/** Longer than any wait for a subject's row: a waiting call has read the clock before. */
const setBackMs = 600_000

/** At least now (`excluded` less $3). A value that is impossibly far ahead is from before the clock was set back, and is ignored. */
const paidUntil = `case when attempts.paid_until > excluded.paid_until + $2::int8 * $3::int8 + ${setBackMs} then excluded.paid_until - $3::int8
  else greatest(attempts.paid_until, excluded.paid_until - $3::int8) end`

export class Attempts extends Context.Service<
  Attempts,
  {
    /** Counts one attempt of this subject, or refuses it. */
    readonly take: (subject: string, rate: Rate) => Effect.Effect<void, RateLimited>
    /** Resets the subject after a successful attempt. */
    readonly forgive: (subject: string) => Effect.Effect<void>
  }
>()("atoll/console/server/Attempts") {
  static readonly layer = Layer.effect(
    Attempts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const takeOne = SqlSchema.findOne({
        Request: Schema.Tuple([Schema.String, Int8, Int8]),
        Result: Schema.Struct({ taken: Schema.Boolean, wait_ms: Int8 }),
        execute: (request) =>
          sql.unsafe(
            `with clock as (select (extract(epoch from clock_timestamp()) * 1000)::int8 as now),
             taken as (
               insert into attempts (subject, paid_until) select $1, now + $3::int8 from clock
               on conflict (subject) do update
                 set paid_until = ${paidUntil} + $3::int8
                 where ${paidUntil} + $3::int8 <= excluded.paid_until - $3::int8 + $2::int8 * $3::int8
               returning 1),
             forgotten as (
               delete from attempts where subject in (
                 select subject from attempts, clock where paid_until < now - ${keptMs} and subject <> $1
                 limit 10 for update of attempts skip locked))
             select exists (select 1 from taken) as taken,
                    greatest(0, coalesce((select paid_until from attempts where subject = $1), 0)
                                + $3::int8 - $2::int8 * $3::int8 - (select now from clock))::int8 as wait_ms`,
            request
          )
      })

      const take = Effect.fn("Attempts.take")(function* (subject: string, { inARow, everyMs }: Rate) {
        const { taken, wait_ms } = yield* Effect.orDie(takeOne([subject, inARow, everyMs]))
        if (taken) return
        return yield* new RateLimited({
          details: { retryAfterSeconds: Math.max(1, Math.ceil(wait_ms / 1000)) }
        })
      })

      const forgive = Effect.fn("Attempts.forgive")(
        (subject: string) => sql`delete from attempts where subject = ${subject}`,
        Effect.orDie,
        Effect.asVoid
      )

      return { take, forgive }
    })
  )
}
