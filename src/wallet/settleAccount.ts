/** What a posting does while it holds the locks of an account: folds meters, posts what they were folded to, and plans. */
import { Clock, Effect, type Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Wallet } from "./Allocation.ts"
import { everRan, type FoldedTransition, fold, leadsBackTo, type Meter } from "./Fold.ts"
import type { Grant } from "./Grant.ts"
import { lockWallet, readCards, readGrantCuts, readOpenGrants, readSpent, shareRates } from "./LedgerReads.ts"
import { type MeterChange, writeEntries, writeGrants, writeMeters, writeSegments, writeWallet } from "./LedgerWrites.ts"
import type { Account } from "./ledgerRows.ts"
import { readMeters, readOpenMeters, readTails, readTransitions, readUnfolded } from "./meterReads.ts"
import { readLoad } from "./overviewRead.ts"
import { figuresAt, type Load, loadOf, type Planned, plan, statusAt, type WalletStatus } from "./Plan.ts"
import { grantCuts, grantsDueAt, post, spentNeeded } from "./Posting.ts"
import { observePosting } from "./postingMetrics.ts"
import { cardAt, type RateCard } from "./RateCard.ts"

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

/** Exhaustion this near is planned by each meter, and later than that by their sums: until then a posting at midnight plans it again. */
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

export const noAccount = (accountId: string) => Effect.die(new Error(`There is no account ${accountId}.`))

const merged = (grants: ReadonlyArray<Grant>, more: ReadonlyArray<Grant>): ReadonlyArray<Grant> => [
  ...new Map([...more, ...grants].map((grant) => [grant.id, grant])).values()
]

export const hold = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, accountId: string) {
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
export const foldMeters = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
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

const shownName = (id: string, meter: Meter | undefined): string => {
  const name = meter?.name ?? id
  const of = meter?.snapshotOf ?? null
  if (of === null) return name
  return of === id ? `Image ${name}` : `Snapshot ${name}`
}

/** Posts what meters were folded to, and what is due of grants; gives what is held then. */
export const postFolded = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
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
    nameOf: (sandboxId) => shownName(sandboxId, meters.get(sandboxId))
  })
  const changes = folded.flatMap(
    ({ before, meter }): ReadonlyArray<MeterChange> =>
      meter === before || !everRan(meter) ? [] : [{ before, after: meter }]
  )
  yield* writeMeters(sql, changes)
  yield* writeSegments(sql, accountId, segments, (sandboxId) => meters.get(sandboxId)!)
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
export const planned = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, held: Held, load: Load, at: number) {
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
export const settleHeld = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  held: Held,
  upTo: number,
  sandboxId: string | null
) {
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
  const folded = yield* foldMeters(sql, held, meters, logs, upTo)
  const posted = yield* postFolded(sql, held, folded, upTo)
  const after = folded.map(({ meter }) => meter).filter(({ hasVolume }) => hasVolume)
  const ahead = folded.reduce((latest, { meter }) => Math.max(latest, meter.at), upTo)
  if (ahead > upTo && (grantsDueAt(posted.grants) ?? ahead + 1) <= ahead) return yield* settleAgain(sql, posted, ahead)
  const load = loadOf(after, held.cards, upTo)
  return reckoningOf(posted, load, yield* planned(sql, posted, load, upTo), upTo)
})

/** A meter was ahead, and something is due before it. */
const settleAgain = (
  sql: SqlClient.SqlClient,
  held: Held,
  at: number
): Effect.Effect<Reckoning, SqlError.SqlError | Schema.SchemaError> =>
  Effect.suspend(() => settleHeld(sql, held, at, null))

export const reckoningOf = (
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

/** Plans by the sums of all open meters, and by each of them where that could matter before the next posting. */
export const planBySums = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, held: Held) {
  const at = held.now
  const { since, load } = yield* readLoad(sql, held.account.accountId, at)
  const isDue = (grantsDueAt(held.grants) ?? at + 1) <= at
  const isCut = since !== null && held.cards.some(({ effectiveAt }) => effectiveAt > since && effectiveAt <= at)
  if (isDue || isCut) {
    yield* settleHeld(sql, held, at, null)
    return
  }
  const { exhaustedAt } = yield* planned(sql, held, load, at)
  if (exhaustedAt === null || exhaustedAt <= at || exhaustedAt > at + nearMs) return
  yield* planned(sql, held, loadOf(yield* readOpenMeters(sql, held.account.accountId), held.cards, at), at)
})

export const foldHeld = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, held: Held, sandboxId: string) {
  const meter = (yield* readMeters(sql, [sandboxId])).get(sandboxId)
  if (meter === undefined) return null
  const logs = yield* readTransitions(sql, [meter])
  const [folded] = yield* foldMeters(sql, held, [meter], logs, null)
  const through = folded!.meter.at
  const isDue = (grantsDueAt(held.grants) ?? through + 1) <= through
  if (!everRan(folded!.meter)) return null
  if (isDue) yield* settleHeld(sql, held, Math.max(held.now, through), sandboxId)
  else if (folded!.meter !== meter) yield* planBySums(sql, yield* postFolded(sql, held, [folded!], through))
  return { accountId: held.account.accountId, isClosed: folded!.meter.closedAt !== null }
})
