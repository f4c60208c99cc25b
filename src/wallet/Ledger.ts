/**
 * The ledger of every account. It folds the costs of Sandboxes out of their transition logs, posts them, and takes them from grants. Each posting
 * is one transaction, which also plans when the credit will be exhausted.
 *
 * Lock order: the rates (shared; exclusive to change them), the account's row of `wallets`, its row of `accounts`. A transaction that
 * holds a lock on the latter must not call the ledger, unless it created the account.
 *
 * @source contract-details.md "Usage and credit"; design.md "Money"
 */
import { Clock, Context, Effect, Layer, Option, Schema, Semaphore } from "effect"
import { SqlClient, type SqlError, SqlSchema } from "effect/sql"
import { newId } from "../identifier/newId.ts"
import { Int8 } from "../store/Columns.ts"
import type { Wallet } from "./Allocation.ts"
import { everRan, type FoldedTransition, fold, leadsBackTo, type Meter } from "./Fold.ts"
import type { Grant, GrantKind } from "./Grant.ts"
import {
  type Account,
  lockRates,
  lockWallet,
  readAllGrants,
  readCards,
  readGrantCuts,
  readLoad,
  readMeters,
  readOpenGrants,
  readOpenMeters,
  readOverview,
  readSpent,
  readTails,
  readTransitions,
  readUnfolded,
  shareRates
} from "./LedgerReads.ts"
import {
  insertGrant,
  type MeterChange,
  writeEntries,
  writeGrants,
  writeMeters,
  writeSegments,
  writeWallet
} from "./LedgerWrites.ts"
import { formatUsd, grantedMaxMicroUsd, grantMaxMicroUsd } from "./Money.ts"
import { nudgeWallet, nudgeWallets } from "./nudge.ts"
import { figuresAt, type Load, loadOf, type Planned, plan, statusAt, type WalletStatus } from "./Plan.ts"
import { grantCuts, grantsDueAt, post, spentNeeded } from "./Posting.ts"
import { observePosting } from "./postingMetrics.ts"
import { cardAt, type RateCard, rateMaxNanoUsd } from "./RateCard.ts"

/** An account's money at an instant. Times are epoch milliseconds. */
export interface Reckoning {
  readonly accountId: string
  readonly at: number
  readonly billing: "unlimited" | "prepaid"
  readonly suspendedAt: number | null
  readonly status: WalletStatus
  /** The posted balance less usage since. Below 0 is debt: usage of an unlimited account, or of a prepaid one in its grace period. */
  readonly balanceMicroUsd: bigint
  /** Micro-USD in an hour at the present rates. */
  readonly burnMicroUsdPerHour: bigint
  /** Total amount of the grants that can be spent. */
  readonly grantedMicroUsd: bigint
  /** When the credit is exhausted; null: never at the present rates, or unlimited. */
  readonly exhaustedAt: number | null
  /** When the credit becomes low; null: never at the present rates, or unlimited. */
  readonly lowAt: number | null
  /** When to `settle` next; null: only after a change. */
  readonly nextAt: number | null
}

/** A refused grant. `message` gives the reason as a sentence. */
export class CreditRefused extends Schema.TaggedError<CreditRefused>()("CreditRefused", { message: Schema.String }) {}

/** A refused rate card. `message` gives the reason as a sentence. */
export class RatesRefused extends Schema.TaggedError<RatesRefused>()("RatesRefused", { message: Schema.String }) {}

export interface NewGrant {
  readonly accountId: string
  readonly kind: GrantKind
  readonly microUsd: bigint
  /** Absent, or in the past: now. */
  readonly effectiveAt?: number
  readonly expiresAt: number | null
  readonly description: string
}

/** Faults of the database, and rows that do not match their schema. */
const faults = ["SqlError", "SchemaError", "NoSuchElementError"] as const

/** Every method is safe to repeat, and to call in two processes concurrently. An unknown account is a defect. */
export class Ledger extends Context.Service<
  Ledger,
  {
    /** Posts the new entries of one Sandbox's log. Null: not a Sandbox, or it never ran. */
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
    /** Adds a card, valid from an instant (now) that must not be in the past. Notifies the wallet of each account with open meters. */
    readonly setRates: (
      rates: Omit<RateCard, "createdAt" | "effectiveAt"> & { readonly effectiveAt?: number }
    ) => Effect.Effect<RateCard, RatesRefused>
    /** Ascending by their instants. */
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

/** If credit may be exhausted this soon, each meter is used; else their sums, because the posting at midnight plans again. */
const nearMs = 24 * 60 * 60 * 1000

/** The rows that a posting has locked. */
interface Held {
  readonly now: number
  readonly account: Account
  readonly wallet: Wallet
  readonly cards: ReadonlyArray<RateCard>
  /** All grants with remaining credit. */
  readonly grants: ReadonlyArray<Grant>
}

const noAccount = (accountId: string) => Effect.die(new Error(`There is no account ${accountId}.`))

const merged = (grants: ReadonlyArray<Grant>, more: ReadonlyArray<Grant>): ReadonlyArray<Grant> => [
  ...new Map([...more, ...grants].map((grant) => [grant.id, grant])).values()
]

/** A posting holds a connection while it waits for its account's lock. This bound leaves connections for requests. */
const postingsMax = 2

const ledgerOn = (sql: SqlClient.SqlClient) => {
  const turns = Semaphore.makeUnsafe(postingsMax)
  const posting = <A, E, R>(effect: Effect.Effect<A, E, R>) => turns.withPermit(sql.withTransaction(effect))

  const hold = Effect.fnUntraced(function* (accountId: string) {
    yield* shareRates(sql)
    const now = yield* Clock.currentTimeMillis
    const locked = yield* lockWallet(sql, accountId, now)
    if (locked === null) return yield* noAccount(accountId)
    const held: Held = {
      now,
      ...locked,
      cards: yield* readCards(sql),
      grants: yield* readOpenGrants(sql, accountId)
    }
    return held
  })

  /** Folds the logs into the meters up to `until` (null: up to the last change of each). */
  const foldMeters = Effect.fnUntraced(function* (
    held: Held,
    meters: ReadonlyArray<Meter>,
    logs: ReadonlyMap<string, ReadonlyArray<FoldedTransition>>,
    until: number | null
  ) {
    const back = meters.flatMap((meter) => {
      const at = leadsBackTo(meter, logs.get(meter.sandboxId) ?? [])
      return at === null ? [] : [{ sandboxId: meter.sandboxId, at }]
    })
    const tails = back.length === 0 ? new Map() : yield* readTails(sql, back)
    const cuts =
      back.length === 0
        ? grantCuts(held.grants)
        : yield* readGrantCuts(sql, held.account.accountId, Math.min(...back.map(({ at }) => at)))
    return meters.map((before) => ({
      before,
      transitions: logs.get(before.sandboxId) ?? [],
      ...fold(before, logs.get(before.sandboxId) ?? [], until, tails.get(before.sandboxId) ?? [], {
        cards: held.cards,
        cuts
      })
    }))
  })

  /** Posts the folded usage and the due changes of grants; returns the new locked state. */
  const postFolded = Effect.fnUntraced(function* (
    held: Held,
    folded: Effect.Success<ReturnType<typeof foldMeters>>,
    through: number
  ) {
    const { accountId } = held.account
    const segments = folded.flatMap((one) => one.segments)
    const needed = spentNeeded(segments)
    const { spent, grants } = yield* readSpent(sql, accountId, {
      ...needed,
      microUsd: needed.microUsd - held.wallet.debtMicroUsd
    })
    const meters = new Map(folded.map(({ meter }) => [meter.sandboxId, meter]))
    const posted = post({
      wallet: held.wallet,
      grants: merged(held.grants, grants),
      segments,
      spent,
      through,
      postedAt: held.now,
      nameOf: (sandboxId) => meters.get(sandboxId)?.name ?? sandboxId
    })
    const changes = folded.flatMap(
      ({ before, meter }): ReadonlyArray<MeterChange> =>
        meter === before || !everRan(meter) ? [] : [{ before, after: meter }]
    )
    yield* writeMeters(sql, changes)
    yield* writeSegments(sql, accountId, segments, (sandboxId) => meters.get(sandboxId)!.workspaceId)
    yield* writeEntries(sql, accountId, held.now, posted.entries, posted.allocations)
    yield* writeGrants(sql, posted.changedGrants)
    const transitions = folded.flatMap((one) => one.transitions)
    yield* Effect.sync(() => observePosting(held.account.billing, held.now, posted.entries, transitions))
    return {
      ...held,
      wallet: posted.wallet,
      grants: posted.grants.filter(({ remainingMicroUsd }) => remainingMicroUsd > 0n)
    } satisfies Held
  })

  /** Plans from an instant at which nothing is due, and stores the plan. */
  const planned = Effect.fnUntraced(function* (held: Held, load: Load, at: number) {
    const { account, wallet, cards, grants } = held
    const found = plan({
      billing: account.billing,
      at,
      grants,
      debtMicroUsd: wallet.debtMicroUsd,
      load,
      cards,
      exhaustedAt: account.exhaustedAt
    })
    yield* writeWallet(sql, wallet, held.now, found)
    return found
  })

  /** Posts everything of the account, and of one of its Sandboxes, up to an instant, or further if a meter is ahead of it. */
  const settleHeld = Effect.fnUntraced(function* (held: Held, upTo: number, sandboxId: string | null) {
    const { accountId } = held.account
    const open = yield* readOpenMeters(sql, accountId)
    const found = yield* readUnfolded(sql, accountId)
    const unfolded = sandboxId === null || found.includes(sandboxId) ? found : [...found, sandboxId]
    const known = new Set(open.map(({ sandboxId }) => sandboxId))
    const others = unfolded.filter((id) => !known.has(id))
    const meters = others.length === 0 ? open : [...open, ...(yield* readMeters(sql, others)).values()]
    const isUnfolded = new Set(unfolded)
    const logs =
      unfolded.length === 0
        ? new Map()
        : yield* readTransitions(
            sql,
            meters.filter(({ sandboxId }) => isUnfolded.has(sandboxId))
          )
    const folded = yield* foldMeters(held, meters, logs, upTo)
    const posted = yield* postFolded(held, folded, upTo)
    const after = folded.map(({ meter }) => meter).filter(({ hasVolume }) => hasVolume)
    const ahead = folded.reduce((latest, { meter }) => Math.max(latest, meter.at), upTo)
    if (ahead > upTo && (grantsDueAt(posted.grants) ?? ahead + 1) <= ahead) return yield* settleAgain(posted, ahead)
    const load = loadOf(after, held.cards, upTo)
    return reckoningOf(posted, load, yield* planned(posted, load, upTo), upTo)
  })

  /** A meter was ahead, and a change is due before it. */
  const settleAgain = (held: Held, at: number): Effect.Effect<Reckoning, SqlError.SqlError | Schema.SchemaError> =>
    Effect.suspend(() => settleHeld(held, at, null))

  const reckoningOf = (
    {
      account,
      wallet,
      grants,
      cards
    }: Pick<Held, "account" | "grants" | "cards"> & {
      readonly wallet: Pick<Wallet, "balanceMicroUsd">
    },
    load: Load,
    { exhaustedAt, lowAt, nextAt }: Planned,
    at: number
  ): Reckoning => {
    const figures = figuresAt(wallet.balanceMicroUsd, grants, load, cards, at)
    return {
      accountId: account.accountId,
      at,
      billing: account.billing,
      suspendedAt: account.suspendedAt,
      status: statusAt(account.billing, figures, { exhaustedAt }, load, cardAt(cards, at), at),
      ...figures,
      exhaustedAt,
      lowAt,
      nextAt
    }
  }

  const settle = (accountId: string, at?: number) =>
    Effect.gen(function* () {
      const held = yield* hold(accountId)
      return yield* settleHeld(held, at ?? held.now, null)
    }).pipe(posting)

  /** Plans by the sums of all open meters, and by each meter if that could matter before the next posting. */
  const planBySums = Effect.fnUntraced(function* (held: Held) {
    const at = held.now
    const { since, load } = yield* readLoad(sql, held.account.accountId, at)
    const isDue = (grantsDueAt(held.grants) ?? at + 1) <= at
    const isCut = since !== null && held.cards.some(({ effectiveAt }) => effectiveAt > since && effectiveAt <= at)
    if (isDue || isCut) {
      yield* settleHeld(held, at, null)
      return
    }
    const { exhaustedAt } = yield* planned(held, load, at)
    if (exhaustedAt === null || exhaustedAt <= at || exhaustedAt > at + nearMs) return
    yield* planned(held, loadOf(yield* readOpenMeters(sql, held.account.accountId), held.cards, at), at)
  })

  const foldHeld = Effect.fnUntraced(function* (held: Held, sandboxId: string) {
    const meter = (yield* readMeters(sql, [sandboxId])).get(sandboxId)
    if (meter === undefined) return null
    const logs = yield* readTransitions(sql, [meter])
    const [folded] = yield* foldMeters(held, [meter], logs, null)
    const through = folded!.meter.at
    const isDue = (grantsDueAt(held.grants) ?? through + 1) <= through
    if (!everRan(folded!.meter)) return null
    if (isDue) yield* settleHeld(held, Math.max(held.now, through), sandboxId)
    else if (folded!.meter !== meter) yield* planBySums(yield* postFolded(held, [folded!], through))
    return { accountId: held.account.accountId, isClosed: folded!.meter.closedAt !== null }
  })

  const findFolded = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ account_id: Schema.String, is_folded: Schema.Boolean, is_closed: Schema.Boolean }),
    execute: (sandboxId) => sql`
      select a.account_id, coalesce(m.revision >= a.revision, false) as is_folded, m.closed_at is not null as is_closed
      from actors a left join meters m on m.sandbox_id = a.id where a.id = ${sandboxId} and a.kind = 'sandbox'`
  })

  const foldSandbox = Effect.fnUntraced(function* (sandboxId: string) {
    const row = Option.getOrNull(yield* findFolded(sandboxId))
    if (row === null) return null
    if (row.is_folded) return { accountId: row.account_id, isClosed: row.is_closed }
    return yield* Effect.flatMap(hold(row.account_id), (held) => foldHeld(held, sandboxId)).pipe(posting)
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
      const reckoning = yield* settleHeld(yield* hold(accountId), now, null)
      return { ...reckoning, grants: yield* readAllGrants(sql, accountId) }
    }).pipe(posting)
  })

  const sumGranted = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ granted: Schema.BigIntFromString }),
    execute: (accountId) => sql`
      select coalesce(sum(granted_micro_usd), 0)::text as granted from grants where account_id = ${accountId}`
  })

  const grant = Effect.fn(function* (wanted: NewGrant) {
    const { accountId, kind, microUsd, expiresAt, description } = wanted
    const held = yield* hold(accountId)
    const effectiveAt = Math.max(wanted.effectiveAt ?? held.now, held.now)
    const refuse = (message: string) => new CreditRefused({ message })
    if (microUsd <= 0n) return yield* refuse("A grant is of more than 0 USD.")
    if (microUsd > grantMaxMicroUsd) {
      return yield* refuse(`A grant is of ${formatUsd(grantMaxMicroUsd)} USD at most.`)
    }
    if (expiresAt !== null && expiresAt <= effectiveAt) {
      return yield* refuse("A grant expires after it has become effective, and not before now.")
    }
    const { granted } = yield* sumGranted(accountId)
    if (granted + microUsd > grantedMaxMicroUsd) {
      return yield* refuse(`All grants of an account together are of ${formatUsd(grantedMaxMicroUsd)} USD at most.`)
    }
    yield* settleHeld(held, held.now, null)
    const made: Grant = {
      id: newId("grt_"),
      kind,
      grantedMicroUsd: microUsd,
      remainingMicroUsd: microUsd,
      expiredMicroUsd: 0n,
      effectiveAt,
      expiresAt,
      isPosted: false,
      description,
      createdAt: held.now
    }
    yield* insertGrant(sql, accountId, made)
    yield* settleHeld(yield* hold(accountId), held.now, null)
    yield* nudgeWallet(sql, accountId)
    return (yield* readAllGrants(sql, accountId)).find(({ id }) => id === made.id)!
  }, posting)

  /** The instant of the meter that is furthest ahead. */
  const findCharged = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ at: Schema.NullOr(Int8) }),
    execute: () => sql`select max(at) as at from meters`
  })

  const findBurning = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ account_id: Schema.String }),
    execute: () => sql`select distinct account_id from meters where closed_at is null`
  })

  const setRates = Effect.fn(function* (
    rates: Omit<RateCard, "createdAt" | "effectiveAt"> & { readonly effectiveAt?: number }
  ) {
    const { vcpuSecondNanoUsd, memoryGibSecondNanoUsd, volumeGibSecondNanoUsd } = rates
    for (const rate of [vcpuSecondNanoUsd, memoryGibSecondNanoUsd, volumeGibSecondNanoUsd]) {
      if (rate >= 0n && rate <= rateMaxNanoUsd) continue
      return yield* new RatesRefused({ message: `A rate is from 0 to ${rateMaxNanoUsd} nano-USD a second.` })
    }
    yield* lockRates(sql)
    const now = yield* Clock.currentTimeMillis
    // A process with a faster clock may have closed segments later than now, at rates that cannot change any more.
    const { at } = yield* findCharged()
    const earliest = Math.max(now, at ?? 0)
    const effectiveAt = rates.effectiveAt ?? earliest
    if (effectiveAt < earliest) {
      return yield* new RatesRefused({
        message: `Rates hold from now on or later, not from ${new Date(effectiveAt).toISOString()}: what was used before then is charged already.`
      })
    }
    const made = yield* sql`
      insert into rate_cards (effective_at, vcpu_second_nano_usd, memory_gib_second_nano_usd, volume_gib_second_nano_usd, created_at)
      values (${BigInt(effectiveAt)}, ${vcpuSecondNanoUsd}, ${memoryGibSecondNanoUsd}, ${volumeGibSecondNanoUsd}, ${BigInt(now)})
      on conflict do nothing returning effective_at`
    if (made.length === 0) {
      return yield* new RatesRefused({
        message: `There are rates already that hold from ${new Date(effectiveAt).toISOString()} on.`
      })
    }
    const burning = yield* findBurning()
    yield* nudgeWallets(
      sql,
      burning.map(({ account_id }) => account_id)
    )
    return { effectiveAt, vcpuSecondNanoUsd, memoryGibSecondNanoUsd, volumeGibSecondNanoUsd, createdAt: now }
  }, posting)

  return { foldSandbox, settle, reckon, balance, grant, setRates }
}
