/**
 * Gauges of the total burn and of the number of exhausted accounts. They are read when metrics are requested, and then cached for a
 * while. One statement over the open meters; it names no account. Every process shows the same values.
 */
import { Clock, Context, Effect, Layer, Metric, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { refreshed } from "../platform/metric/refreshed.ts"
import { Int8 } from "../store/Columns.ts"
import { storageRateOf } from "./Cost.ts"

const freshForMs = 15_000

const context = Context.empty()

const burn = (billing: string) =>
  Metric.gauge("atoll_burn_micro_usd_per_hour", {
    description: "Cost of an hour at the present rates, in millionths of a dollar, by the accounts' billing.",
    attributes: { billing }
  })

const burns = [["unlimited", burn("unlimited")] as const, ["prepaid", burn("prepaid")] as const]

const exhausted = Metric.gauge("atoll_accounts_exhausted", { description: "Prepaid accounts without credit." })

const overdue = Metric.gauge("atoll_postings_overdue_seconds", {
  description: "How long the most overdue posting of an account has been waiting."
})

/** $1: now. */
const statement = `
  with card as (select * from rate_cards where effective_at <= $1::int8 order by effective_at desc limit 1),
  burning as (
    select a.billing, sum(case when m.is_running then m.milli_vcpus * c.vcpu_second_nano_usd::numeric / 1000 else 0 end) as vcpu,
      sum(case when m.is_running then m.memory_bytes * c.memory_gib_second_nano_usd::numeric else 0 end
          + case when m.has_volume then m.volume_bytes * ${storageRateOf("m", "c")} else 0 end) as per_gib
    from meters m join accounts a on a.id = m.account_id cross join card c where m.closed_at is null group by a.billing
  )
  select (select coalesce(jsonb_object_agg(billing, floor((vcpu + per_gib / 1073741824) * 3600 / 1000)::float8), '{}') from burning) as burns,
    (select count(*)::int4 from accounts where billing = 'prepaid' and exhausted_at <= $1) as exhausted,
    (select greatest($1 - min(next_at), 0)::float8 / 1000 from wallets) as overdue`

const Row = Schema.Struct({
  /** By billing. */
  burns: Schema.Record(Schema.String, Schema.Finite),
  exhausted: Schema.Int,
  /** Seconds; null: no wallet waits for a posting. */
  overdue: Schema.NullOr(Schema.Finite)
})

export class MoneyGauges extends Context.Service<
  MoneyGauges,
  {
    /** Reads the gauges again if they are old. Keeps the old values if the database does not answer soon. */
    readonly refresh: Effect.Effect<void>
  }
>()("atoll/wallet/MoneyGauges") {
  static readonly layer = Layer.effect(
    MoneyGauges,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const find = SqlSchema.findOne({
        Request: Int8,
        Result: Row,
        execute: (now) => sql.unsafe(statement, [now])
      })
      const read = Effect.gen(function* () {
        const found = yield* find(yield* Clock.currentTimeMillis)
        for (const [billing, gauge] of burns) gauge.updateUnsafe(found.burns[billing] ?? 0, context)
        exhausted.updateUnsafe(found.exhausted, context)
        overdue.updateUnsafe(found.overdue ?? 0, context)
      })
      return { refresh: refreshed(read, freshForMs) }
    })
  )
}
