/**
 * The ledger of every account: what its Sandboxes cost is folded out of their transition logs, posted, and taken from its grants, each time
 * in one transaction that also plans when nothing will be left.
 *
 * Locks are taken in this order: the rates (shared; exclusive to change them), the account's row of `wallets`, its row of `accounts`. Whoever
 * holds a lock on the latter may not call anything here in the same transaction, unless it made the account in it.
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
  /** Posted, less what has been used since. Below 0 is debt: what an unlimited account has used, or a prepaid one in its grace time. */
  readonly balanceMicroUsd: bigint
  /** What an hour costs as things are. */
  readonly burnMicroUsdPerHour: bigint
  /** Granted in sum, of the grants that can be spent. */
  readonly grantedMicroUsd: bigint
  /** From when on nothing is left; null: never, as things are, or unlimited. */
  readonly exhaustedAt: number | null
  /** From when on it is low; null: never, as things are, or unlimited. */
  readonly lowAt: number | null
  /** When to `settle` next; null: not before something changes. */
  readonly nextAt: number | null
}

/** A grant that is not made. `message` is a sentence that says why. */
export class CreditRefused extends Schema.TaggedError<CreditRefused>()("CreditRefused", { message: Schema.String }) {}

/** A rate card that is not taken. `message` is a sentence that says why. */
export class RatesRefused extends Schema.TaggedError<RatesRefused>()("RatesRefused", { message: Schema.String }) {}

export interface NewGrant {
  readonly accountId: string
  readonly kind: GrantKind
  readonly microUsd: bigint
  /** Absent, or past: now. */
  readonly effectiveAt?: number
  readonly expiresAt: number | null
  readonly description: string
}

/** What the database does, and rows that are not what they are read as. */
const faults = ["SqlError", "SchemaError", "NoSuchElementError"] as const

/** Every method is safe to repeat, and to call in two processes at once. An account that is not there is a defect. */
export class Ledger extends Context.Service<
  Ledger,
  {
    /** Posts what the log of one Sandbox says since it was last looked at. Null: not a Sandbox, or it never ran. */
    readonly foldSandbox: (
      sandboxId: string
    ) => Effect.Effect<{ readonly accountId: string; readonly isClosed: boolean } | null>
    /** Posts everything of an account up to an instant (now): usage, grants that have become effective, what has expired. Plans anew. */
    readonly settle: (accountId: string, at?: number) => Effect.Effect<Reckoning>
    /** As it stands at an instant (now). Reads, unless something is due: then it settles first. */
    readonly reckon: (accountId: string, at?: number) => Effect.Effect<Reckoning>
    /** The same with all grants, oldest first. */
    readonly balance: (accountId: string) => Effect.Effect<Reckoning & { readonly grants: ReadonlyArray<Grant> }>
    /** Settles, gives, plans anew and leaves a nudge for the running service, in one transaction. */
    readonly grant: (grant: NewGrant) => Effect.Effect<Grant, CreditRefused>
    /** A card that holds from an instant on (now), which may not be past. Leaves a nudge for each account that burns. */
    readonly setRates: (
      rates: Omit<RateCard, "createdAt" | "effectiveAt"> & { readonly effectiveAt?: number }
    ) => Effect.Effect<RateCard, RatesRefused>
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

/** Exhaustion this near is planned by each meter, and later than that by their sums: until then a midnight's posting plans it anew. */
const nearMs = 24 * 60 * 60 * 1000

/** What a posting holds while it is under way, locked. */
interface Held {
  readonly now: number
  readonly account: Account
  readonly wallet: Wallet
  readonly cards: ReadonlyArray<RateCard>
  /** All that have something left. */
  readonly grants: ReadonlyArray<Grant>
}

const noAccount = (accountId: string) => Effect.die(new Error(`There is no account ${accountId}.`))

const merged = (grants: ReadonlyArray<Grant>, more: ReadonlyArray<Grant>): ReadonlyArray<Grant> => [
  ...new Map([...more, ...grants].map((grant) => [grant.id, grant])).values()
]

/** Postings wait for their account's lock with a connection in hand: many at once must not take all that requests need. */
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

  /** Folds meters with what their logs say, as far as `until` (null: up to their own last change). */
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

  /** Posts what meters were folded to, and what is due of grants; gives what is held then. */
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

  /** Plans from an instant at which nothing is due, and keeps it. */
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

  /** Posts everything of the account, and of a Sandbox of it, up to an instant, or further where a meter is ahead of it. */
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

  /** A meter was ahead, and something is due before it. */
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

  /** Plans by the sums of all open meters, and by each of them where that could matter before the next posting. */
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

  /** Reads, unless something is due. */
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

  /** Up to where the meter that is furthest stands. */
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
    // Another process's clock may be ahead, and has closed segments at rates that cannot change any more.
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
