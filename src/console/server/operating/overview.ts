/** Accounts for the operator, a page at a time: how many Sandboxes each has in which state, and what they cost at present. No content of any. */
import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { accountPage, type WantedAccounts } from "../../../account/accountPage.ts"
import { Int8, textColumn } from "../../../store/Columns.ts"
import { storageRateOf } from "../../../wallet/Cost.ts"
import { accountDocument } from "./accountDocument.ts"
import { time } from "./times.ts"

const Counted = Schema.Struct({ account_id: Schema.String, status: Schema.String, count: Schema.Int })
const Burning = Schema.Struct({ account_id: Schema.String, micro_usd: Int8 })

/** Null: all accounts. */
type Ids = ReadonlyArray<string> | null

/**
 * How many Sandboxes are in each state, by account; of all accounts together under "".
 *
 * @param goneStates Sandboxes in these states are not counted.
 */
const sandboxesByState = Effect.fnUntraced(function* (ids: Ids, goneStates: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* SqlSchema.findAll({
    Request: Schema.Void,
    Result: Counted,
    execute: () => sql`
      select ${ids === null ? sql`''` : sql`account_id`} as account_id, sandbox_status as status, count(*)::int4 as count
      from actors
      where kind = 'sandbox' and sandbox_status <> all(${textColumn(goneStates)}::text[])
        ${ids === null ? sql`` : sql`and account_id = any(${textColumn(ids)}::text[])`}
      group by 1, 2`
  })()
  const byAccount = Map.groupBy(found, ({ account_id }) => account_id)
  return (id: string): Readonly<Record<string, number>> =>
    Object.fromEntries((byAccount.get(id) ?? []).map(({ status, count }) => [status, count]))
})

/** Micro-dollars an hour at present, likewise. */
const burns = Effect.fnUntraced(function* (ids: Ids) {
  const sql = yield* SqlClient.SqlClient
  const found = yield* SqlSchema.findAll({
    Request: Int8,
    Result: Burning,
    execute: (at) => sql`
      select ${ids === null ? sql`''` : sql`m.account_id`} as account_id, floor(sum(
        case when m.is_running then m.milli_vcpus * c.vcpu_second_nano_usd::numeric / 1000
                                  + m.memory_bytes * c.memory_gib_second_nano_usd::numeric / 1073741824 else 0 end
        + case when m.has_volume then m.volume_bytes * ${sql.literal(storageRateOf("m", "c"))} / 1073741824 else 0 end
        ) * 3600 / 1000)::int8 as micro_usd
      from meters m cross join (
        select * from rate_cards where effective_at <= ${at} order by effective_at desc limit 1) c
      where m.closed_at is null ${ids === null ? sql`` : sql`and m.account_id = any(${textColumn(ids)}::text[])`}
      group by 1`
  })(yield* Clock.currentTimeMillis)
  const byAccount = new Map(found.map(({ account_id, micro_usd }) => [account_id, micro_usd]))
  return (id: string): number => byAccount.get(id) ?? 0
})

/** A page of accounts, with one more if there is a next page. */
export const accountsOverview = Effect.fn("operating.accountsOverview")(function* (
  wanted: WantedAccounts,
  goneStates: ReadonlyArray<string>
) {
  const { accounts, matching } = yield* accountPage(wanted)
  const ids = accounts.map(({ id }) => id)
  const states = yield* sandboxesByState(ids, goneStates)
  const costs = yield* burns(ids)
  const shown = yield* Effect.forEach(accounts, (account) =>
    Effect.map(accountDocument(account), (document) => ({
      ...document,
      sandboxes: states(account.id),
      burnMicroUsdPerHour: costs(account.id)
    }))
  )
  return { accounts: shown, matching }
}, Effect.orDie)

/** What all accounts have together: it reads every Sandbox, so a page asks for it once. */
export const accountsSum = Effect.fn("operating.accountsSum")(function* (goneStates: ReadonlyArray<string>) {
  const sql = yield* SqlClient.SqlClient
  const [counted] = yield* sql<{ readonly accounts: number }>`select count(*)::int4 as accounts from accounts`
  const states = yield* sandboxesByState(null, goneStates)
  const costs = yield* burns(null)
  return { accounts: counted!.accounts, sandboxes: states(""), burnMicroUsdPerHour: costs("") }
}, Effect.orDie)

/** Of one account, newest first. */
const actsMax = 50

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
