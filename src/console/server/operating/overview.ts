/** All accounts, for the operator: how many Sandboxes each has in which state, and what they cost at present. No content of any. */
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Accounts } from "../../../account/Accounts.ts"
import { Int8 } from "../../../store/Columns.ts"
import { accountDocument } from "./accountDocument.ts"
import { time } from "./times.ts"

const Counted = Schema.Struct({ account_id: Schema.String, status: Schema.String, count: Schema.Int })
const Burning = Schema.Struct({ account_id: Schema.String, micro_usd: Int8 })

/** Of one account, newest first. */
const actsMax = 50

/** @param isGone Such Sandboxes are not counted. */
export const accountsOverview = Effect.fn("operating.accountsOverview")(function* (
  isGone: (status: string) => boolean
) {
  const sql = yield* SqlClient.SqlClient
  const now = yield* Clock.currentTimeMillis
  const counted = yield* SqlSchema.findAll({
    Request: Schema.Void,
    Result: Counted,
    execute: () => sql`
      select account_id, sandbox_status as status, count(*)::int4 as count from actors
      where kind = 'sandbox' and sandbox_status is not null group by 1, 2`
  })()
  const burning = yield* SqlSchema.findAll({
    Request: Int8,
    Result: Burning,
    execute: (at) => sql`
      select m.account_id, floor(sum(
        case when m.is_running then m.vcpus * c.vcpu_second_nano_usd::numeric
                                  + m.memory_bytes * c.memory_gib_second_nano_usd::numeric / 1073741824 else 0 end
        + case when m.has_volume then m.volume_bytes * c.volume_gib_second_nano_usd::numeric / 1073741824 else 0 end
        ) * 3600 / 1000)::int8 as micro_usd
      from meters m cross join (
        select * from rate_cards where effective_at <= ${at} order by effective_at desc limit 1) c
      where m.closed_at is null group by 1`
  })(now)
  const states = Map.groupBy(
    counted.filter(({ status }) => !isGone(status)),
    ({ account_id }) => account_id
  )
  const burns = new Map(burning.map(({ account_id, micro_usd }) => [account_id, micro_usd]))
  const accounts = yield* (yield* Accounts).list
  return yield* Effect.forEach(
    accounts,
    Effect.fnUntraced(function* (account) {
      return {
        ...(yield* accountDocument(account)),
        sandboxes: Object.fromEntries((states.get(account.id) ?? []).map(({ status, count }) => [status, count])),
        burnMicroUsdPerHour: burns.get(account.id) ?? 0
      }
    })
  )
}, Effect.orDie)

const Act = Schema.Struct({
  id: Schema.String,
  at: Int8,
  action: Schema.String,
  path: Schema.String,
  target_id: Schema.NullOr(Schema.String),
  status: Schema.Int,
  source_ip: Schema.String
})

/** What the operator did with an account. */
export const operatorActs = Effect.fn("operating.operatorActs")(function* (accountId: string) {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* SqlSchema.findAll({
    Request: Schema.String,
    Result: Act,
    execute: (id) => sql`
      select id, at, action, path, target_id, status, source_ip from audit_events
      where account_id = ${id} and source = 'operator' order by at desc, id desc limit ${actsMax}`
  })(accountId)
  return rows.map(({ at, path, target_id, source_ip, ...row }) => ({
    ...row,
    at: time(at)!,
    by: path,
    targetId: target_id,
    sourceIp: source_ip
  }))
}, Effect.orDie)
