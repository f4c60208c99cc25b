/**
 * The ledger of every account. It folds the costs of Sandboxes and of their snapshots out of their transition logs, posts them, and takes them from grants. Each posting
 * is one transaction, which also plans when the credit will be exhausted.
 *
 * Lock order: the rates (shared; exclusive to change them), the account's row of `wallets`, its row of `accounts`. A transaction that
 * holds a lock on the latter must not call the ledger, unless it created the account.
 *
 * @source contract-details.md "Usage and credit"; design.md "Money"
 */
import { Clock, Context, Effect, Layer, Option, Schema, Semaphore } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { operatorAccount } from "../store/Actors.ts"
import { addRates, type NewRates, type RatesRefused } from "./addRates.ts"
import type { Grant } from "./Grant.ts"
import { type CreditRefused, grantCredit, type NewGrant } from "./grantCredit.ts"
import { readAllGrants, readCards } from "./LedgerReads.ts"
import { meteredKinds } from "./meterReads.ts"
import { readOverview } from "./overviewRead.ts"
import { grantsDueAt } from "./Posting.ts"
import type { RateCard } from "./RateCard.ts"
import { foldHeld, hold, noAccount, type Reckoning, reckoningOf, settleHeld } from "./settleAccount.ts"

/** Faults of the database, and rows that do not match their schema. */
const faults = ["SqlError", "SchemaError", "NoSuchElementError"] as const

/** Every method is safe to repeat, and to call in two processes concurrently. An unknown account is a defect. */
export class Ledger extends Context.Service<
  Ledger,
  {
    /** Posts the new entries of the log of one Sandbox or snapshot. Null: neither, or it never ran or was never ready. */
    readonly foldSandbox: (
      sandboxId: string
    ) => Effect.Effect<{ readonly accountId: string; readonly isClosed: boolean } | null>
    /** Posts everything of an account up to an instant (now): usage, newly effective grants, expiries. Then plans again. */
    readonly settle: (accountId: string, at?: number) => Effect.Effect<Reckoning>
    /** The account's money at an instant (now). Only reads, unless a posting is due: then it settles first. */
    readonly reckon: (accountId: string, at?: number) => Effect.Effect<Reckoning>
    /** The same with all grants, oldest first. */
    readonly balance: (accountId: string) => Effect.Effect<Reckoning & { readonly grants: ReadonlyArray<Grant> }>
    /** Settles, adds the grant, plans again and notifies the running service (outbox row and NOTIFY), in one transaction. */
    readonly grant: (grant: NewGrant) => Effect.Effect<Grant, CreditRefused>
    /** A card that holds from an instant on (now), which may not be past. Leaves an outbox row for each account that burns. */
    readonly setRates: (rates: NewRates) => Effect.Effect<RateCard, RatesRefused>
    /** By their instants. */
    readonly rates: Effect.Effect<ReadonlyArray<RateCard>>
  }
>()("atoll/wallet/Ledger") {
  static readonly layer = Layer.effect(
    Ledger,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const ledger = ledgerOn(sql)
      return {
        foldSandbox: Effect.fn("Ledger.foldSandbox")((sandboxId) => Effect.orDie(ledger.foldSandbox(sandboxId))),
        settle: Effect.fn("Ledger.settle")((accountId, at) => Effect.orDie(ledger.settle(accountId, at))),
        reckon: Effect.fn("Ledger.reckon")((accountId, at) => Effect.orDie(ledger.reckon(accountId, at))),
        balance: Effect.fn("Ledger.balance")((accountId) => Effect.orDie(ledger.balance(accountId))),
        grant: Effect.fn("Ledger.grant")((grant) => Effect.catchTag(ledger.grant(grant), faults, Effect.die)),
        setRates: Effect.fn("Ledger.setRates")((rates) => Effect.catchTag(ledger.setRates(rates), faults, Effect.die)),
        rates: Effect.orDie(readCards(sql))
      }
    })
  )
}

/** Postings wait for their account's lock with a connection in hand: many at once must not take all that requests need. */
const postingsMax = 2

const ledgerOn = (sql: SqlClient.SqlClient) => {
  const turns = Semaphore.makeUnsafe(postingsMax)
  const posting = <A, E, R>(effect: Effect.Effect<A, E, R>) => turns.withPermit(sql.withTransaction(effect))

  const settle = (accountId: string, at?: number) =>
    Effect.gen(function* () {
      const held = yield* hold(sql, accountId)
      return yield* settleHeld(sql, held, at ?? held.now, null)
    }).pipe(posting)

  const findFolded = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ account_id: Schema.String, is_folded: Schema.Boolean, is_closed: Schema.Boolean }),
    execute: (sandboxId) => sql`
      select a.account_id, coalesce(m.revision >= a.revision, false) as is_folded, m.closed_at is not null as is_closed
      from actors a left join meters m on m.sandbox_id = a.id where a.id = ${sandboxId} and a.kind in ${sql.literal(meteredKinds)}
        and a.account_id <> ${operatorAccount}`
  })

  const foldSandbox = Effect.fnUntraced(function* (sandboxId: string) {
    const row = Option.getOrNull(yield* findFolded(sandboxId))
    if (row === null) return null
    if (row.is_folded) return { accountId: row.account_id, isClosed: row.is_closed }
    return yield* Effect.flatMap(hold(sql, row.account_id), (held) => foldHeld(sql, held, sandboxId)).pipe(posting)
  })

  /** Only reads, unless a posting is due. */
  const overview = Effect.fnUntraced(function* (accountId: string, at: number, withUsedGrants: boolean) {
    const read = yield* readOverview(sql, accountId, at, withUsedGrants)
    if (read === null) return yield* noAccount(accountId)
    const { account, wallet, cards, grants, since, load } = read
    const balance = wallet === null ? 0n : wallet.balanceMicroUsd - load.grownMicroUsd
    const isOver = account.exhaustedAt !== null && account.exhaustedAt <= read.at
    const isDue =
      wallet === null ||
      (grantsDueAt(grants) ?? read.at + 1) <= read.at ||
      (since !== null && cards.some(({ effectiveAt }) => effectiveAt > since && effectiveAt <= read.at)) ||
      (account.billing === "prepaid" && balance <= 0n && !isOver) ||
      (account.billing === "unlimited" && account.exhaustedAt !== null)
    if (isDue) return null
    const planned = { exhaustedAt: account.exhaustedAt, lowAt: wallet.lowAt, nextAt: wallet.nextAt }
    return { reckoning: reckoningOf({ account, wallet, grants, cards }, load, planned, read.at), grants }
  })

  const reckon = Effect.fnUntraced(function* (accountId: string, at?: number) {
    const instant = at ?? (yield* Clock.currentTimeMillis)
    const read = yield* overview(accountId, instant, false)
    return read?.reckoning ?? (yield* settle(accountId, instant))
  })

  const balance = Effect.fnUntraced(function* (accountId: string) {
    const now = yield* Clock.currentTimeMillis
    const read = yield* overview(accountId, now, true)
    if (read !== null) return { ...read.reckoning, grants: read.grants }
    return yield* Effect.gen(function* () {
      const reckoning = yield* settleHeld(sql, yield* hold(sql, accountId), now, null)
      return { ...reckoning, grants: yield* readAllGrants(sql, accountId) }
    }).pipe(posting)
  })

  const grant = Effect.fn(function* (wanted: NewGrant) {
    return yield* grantCredit(sql, wanted)
  }, posting)

  const setRates = Effect.fn(function* (rates: NewRates) {
    return yield* addRates(sql, rates)
  }, posting)

  return { foldSandbox, settle, reckon, balance, grant, setRates }
}
