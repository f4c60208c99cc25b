/**
 * What must be true of an account's money after every step, computed by a reader that shares nothing with the ledger:
 * it integrates whole logs, in effect a millisecond at a time, without cuts, frontiers or postings.
 */
import assert from "node:assert/strict"
import type { Allocation, Entry, Wallet } from "../../../src/wallet/Allocation.ts"
import { type Amounts, costWithin, type Sizes, total } from "../../../src/wallet/Cost.ts"
import {
  dayMs,
  type FoldedTransition,
  type Meter,
  type MeteredSandbox,
  type Segment
} from "../../../src/wallet/Fold.ts"
import type { Grant } from "../../../src/wallet/Grant.ts"
import type { RateCard } from "../../../src/wallet/RateCard.ts"

/** Everything that is stored of one account. */
export interface Books {
  readonly wallet: Wallet
  readonly cards: ReadonlyArray<RateCard>
  readonly meters: ReadonlyArray<Meter>
  readonly segments: ReadonlyArray<Segment>
  readonly grants: ReadonlyArray<Grant>
  readonly entries: ReadonlyArray<Entry>
  readonly allocations: ReadonlyArray<Allocation>
}

export type Logs = ReadonlyMap<
  string,
  { readonly sandbox: MeteredSandbox; readonly log: ReadonlyArray<FoldedTransition> }
>

interface Span {
  readonly from: number
  readonly to: number
  readonly sizes: Sizes
}

/** The intervals in which a snapshot stored something; an open one ends at `until`. */
const storedSpans = (log: ReadonlyArray<FoldedTransition>, until: number): ReadonlyArray<Span> => {
  let since: number | null = null
  let stored: Sizes | null = null
  let clock = 0
  for (const { at, to, sizes } of log) {
    clock = Math.max(clock, at)
    if (to === "ready" && since === null) [since, stored] = [clock, sizes]
    if ((to === "deleted" || to === "failed") && since !== null) return [{ from: since, to: clock, sizes: stored! }]
  }
  return since === null ? [] : [{ from: since, to: until, sizes: stored! }]
}

/** The intervals of its runs and of its volume at each size; an open one ends at `until`. */
const spansOf = (made: Sizes, log: ReadonlyArray<FoldedTransition>, until: number) => {
  const runs: Array<Span> = []
  const volumes: Array<Span> = []
  let kept: number | null = null
  let started: number | null = null
  let clock = 0
  let sizes = made
  for (const { at, from, to, seenAt, sizes: given } of log) {
    clock = Math.max(clock, at)
    if (given !== null) {
      if (started !== null) runs.push({ from: started, to: clock, sizes })
      if (kept !== null) volumes.push({ from: kept, to: clock, sizes })
      if (started !== null) started = clock
      if (kept !== null) kept = clock
      sizes = given
    }
    if (from === to) continue
    if (started !== null) {
      let end = clock
      if (seenAt !== null) end = Math.min(Math.max(Math.floor(seenAt), started), clock)
      runs.push({ from: started, to: end, sizes })
      started = null
    }
    if (to === "running") {
      started = clock
      kept ??= clock
    }
    if (to === "deleted" && kept !== null) {
      volumes.push({ from: kept, to: clock, sizes })
      kept = null
    }
  }
  if (started !== null) runs.push({ from: started, to: until, sizes })
  if (kept !== null) volumes.push({ from: kept, to: until, sizes })
  return { runs, volumes }
}

const integrate = (
  spans: ReadonlyArray<Span>,
  until: number,
  cards: ReadonlyArray<RateCard>,
  rate: (card: RateCard, sizes: Sizes) => bigint
): bigint => {
  let sum = 0n
  for (const [i, card] of cards.entries()) {
    const cardEnds = Math.min(cards[i + 1]?.effectiveAt ?? until, until)
    for (const span of spans) {
      const from = Math.max(span.from, card.effectiveAt)
      const to = Math.min(span.to, cardEnds)
      if (to > from) sum += BigInt(to - from) * rate(card, span.sizes)
    }
  }
  return sum
}

/** Micro-USD that a Sandbox or a snapshot has cost up to an instant. */
export const costOf = (
  { sandbox, log }: { readonly sandbox: MeteredSandbox; readonly log: ReadonlyArray<FoldedTransition> },
  until: number,
  cards: ReadonlyArray<RateCard>
): Amounts => {
  const perByte = 1_000_000n * 1024n * 1024n * 1024n
  if (sandbox.snapshotOf !== null) {
    const rate = (card: RateCard, sizes: Sizes) => card.snapshotGibSecondNanoUsd * BigInt(sizes.volumeBytes)
    return { vcpu: 0n, memory: 0n, volume: integrate(storedSpans(log, until), until, cards, rate) / perByte }
  }
  const { runs, volumes } = spansOf(sandbox, log, until)
  const tenths = ({ vcpus }: Sizes) => BigInt(Math.round(vcpus * 10))
  return {
    vcpu: integrate(runs, until, cards, (card, sizes) => card.vcpuSecondNanoUsd * tenths(sizes)) / 10_000_000n,
    memory:
      integrate(runs, until, cards, (card, sizes) => card.memoryGibSecondNanoUsd * BigInt(sizes.memoryBytes)) / perByte,
    volume:
      integrate(volumes, until, cards, (card, sizes) => card.volumeGibSecondNanoUsd * BigInt(sizes.volumeBytes)) /
      perByte
  }
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

const sum = <A>(items: Iterable<A>, of: (item: A) => bigint): bigint => {
  let all = 0n
  for (const item of items) all += of(item)
  return all
}

/**
 * Each Sandbox's segments add up to its log's figures up to the meter's instant, by component, by day and in any
 * windows.
 */
const checkCosts = (books: Books, logs: Logs) => {
  const bySandbox = Map.groupBy(books.segments, ({ sandboxId }) => sandboxId)
  for (const meter of books.meters) {
    const known = logs.get(meter.sandboxId)!
    const log = known.log.filter(({ revision }) => revision <= meter.revision)
    const truth = costOf({ sandbox: known.sandbox, log }, meter.at, books.cards)
    const segments = bySandbox.get(meter.sandboxId) ?? []
    const posted: Amounts = {
      vcpu: sum(segments, ({ cost }) => cost.vcpu),
      memory: sum(segments, ({ cost }) => cost.memory),
      volume: sum(segments, ({ cost }) => cost.volume)
    }
    assert.deepEqual(posted, truth, `what ${meter.sandboxId} cost`)
    assert.deepEqual(
      segments.map(({ number }) => number),
      segments.map((_, i) => i),
      "segments are numbered without a gap"
    )
    for (const { from, to } of segments) {
      assert.ok(from < to && Math.floor(from / dayMs) === Math.floor((to - 1) / dayMs), "a segment lies in one day")
      assert.ok(
        !books.cards.some(({ effectiveAt }) => effectiveAt > from && effectiveAt < to),
        "a segment lies under one card"
      )
    }
    const days = new Set(segments.map(({ from }) => Math.floor(from / dayMs)))
    const byDay = sum(days, (day) =>
      sum(segments, (segment) => total(costWithin(segment, day * dayMs, (day + 1) * dayMs)))
    )
    assert.equal(byDay, total(truth), "days add up to the whole")
    // Windows that cut segments anywhere.
    const middle = segments[0] === undefined ? 0 : Math.floor((segments[0].from + meter.at) / 2)
    const halves =
      sum(segments, (segment) => total(costWithin(segment, 0, middle))) +
      sum(segments, (segment) => total(costWithin(segment, middle, Number.MAX_SAFE_INTEGER)))
    assert.equal(halves, total(truth), "halves add up to the whole")
  }
  const byWorkspace = Map.groupBy(books.meters, ({ workspaceId }) => workspaceId)
  assert.equal(
    sum(byWorkspace.values(), (meters) =>
      sum(meters, ({ sandboxId }) => sum(bySandbox.get(sandboxId) ?? [], ({ cost }) => total(cost)))
    ),
    sum(books.segments, ({ cost }) => total(cost)),
    "workspaces add up to the whole"
  )
}

const checkLedger = ({ wallet, segments, grants, entries, allocations }: Books) => {
  const costs = sum(segments, ({ cost }) => total(cost))
  const posted = grants.filter(({ isPosted }) => isPosted)
  const granted = sum(posted, ({ grantedMicroUsd }) => grantedMicroUsd)
  const expired = sum(grants, ({ expiredMicroUsd }) => expiredMicroUsd)
  assert.equal(wallet.balanceMicroUsd, granted - expired - costs, "the balance is what was granted and is not gone")
  assert.equal(
    wallet.balanceMicroUsd,
    sum(entries, ({ microUsd }) => microUsd),
    "the balance is the sum of the entries"
  )
  assert.equal(
    wallet.balanceMicroUsd,
    sum(posted, ({ remainingMicroUsd }) => remainingMicroUsd) - wallet.debtMicroUsd,
    "the balance is what is left of grants, less the debt"
  )
  assert.ok(wallet.debtMicroUsd >= 0n, "debt is not negative")
  let balance = 0n
  for (const [i, entry] of entries.entries()) {
    balance += entry.microUsd
    assert.equal(entry.number, BigInt(i + 1), "entries are numbered without a gap")
    assert.equal(entry.balanceMicroUsd, balance, "each entry shows the balance after it")
  }
  assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length, "no entry stands twice")
  const byId = new Map(entries.map((entry) => [entry.id, entry]))
  for (const segment of segments) {
    if (total(segment.cost) === 0n) continue
    const entry = entries.find(
      ({ sandboxId, segment: number }) => sandboxId === segment.sandboxId && number === segment.number
    )
    assert.equal(entry?.microUsd, -total(segment.cost), "each segment that costs has its entry")
    assert.equal(entry.kind, segment.sign === 1 ? "usage" : "reversal")
    if (entry.kind === "reversal") assert.equal(byId.get(entry.reversesId!)?.segment, segment.takesBack)
  }
  const grantsById = new Map(grants.map((grant) => [grant.id, grant]))
  for (const grant of grants) {
    const allocated = sum(allocations, ({ grantId, microUsd }) => (grantId === grant.id ? microUsd : 0n))
    assert.ok(
      grant.remainingMicroUsd >= 0n && grant.expiredMicroUsd >= 0n && allocated >= 0n,
      "nothing of a grant is negative"
    )
    assert.equal(
      grant.grantedMicroUsd,
      grant.remainingMicroUsd + grant.expiredMicroUsd + allocated,
      "a grant is what is left, what expired and what was spent"
    )
  }
  for (const { entryId, grantId, microUsd } of allocations) {
    const entry = byId.get(entryId)!
    const { isPosted, expiresAt } = grantsById.get(grantId)!
    assert.ok(isPosted, "only what has become effective is spent")
    if (entry.kind !== "usage") continue
    assert.ok(microUsd > 0n && (expiresAt === null || entry.period!.to <= expiresAt), "expired credit is not spent")
  }
  for (const { id, microUsd } of entries) {
    const own = sum(allocations, ({ entryId, microUsd }) => (entryId === id ? microUsd : 0n))
    if (microUsd < 0n) assert.ok(own >= 0n && own <= -microUsd, "nothing pays more than it costs")
  }
}

/** @param through Everything due up to here was posted. */
const checkDebt = ({ wallet, grants }: Books, through: number) => {
  if (wallet.debtMicroUsd === 0n) return
  for (const grant of grants) {
    if (grant.isPosted && (grant.expiresAt === null || grant.expiresAt > through)) {
      assert.equal(grant.remainingMicroUsd, 0n, "there is debt only where nothing is left")
    }
  }
}

export const check = (books: Books, logs: Logs, through: number): void => {
  checkCosts(books, logs)
  checkLedger(books)
  checkDebt(books, through)
}

/**
 * Where nothing came late: what is left, expired and owed, computed along the grants' instants with the costs of all
 * Sandboxes in between.
 * @param at Everything was posted up to here.
 */
export const checkSpending = ({ wallet, grants, cards }: Books, logs: Logs, at: number): void => {
  const left = new Map(grants.map(({ id }) => [id, 0n]))
  const expired = new Map(grants.map(({ id }) => [id, 0n]))
  let debt = 0n
  let spent = 0n
  const cost = (instant: number) => sum(logs.values(), (known) => total(costOf(known, instant, cards)))
  const inOrder = [...grants].sort((a, b) => {
    if ((a.kind === "promotional") !== (b.kind === "promotional")) return a.kind === "promotional" ? -1 : 1
    if (a.expiresAt !== b.expiresAt) return (a.expiresAt ?? Infinity) < (b.expiresAt ?? Infinity) ? -1 : 1
    if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1
    return a.id < b.id ? -1 : 1
  })
  const spendUpTo = (instant: number) => {
    let open = cost(instant) - spent
    spent += open
    for (const { id } of inOrder) {
      const paid = least(open, left.get(id)!)
      left.set(id, left.get(id)! - paid)
      open -= paid
    }
    debt += open
  }
  const instants = new Set(grants.flatMap(({ effectiveAt, expiresAt }) => [effectiveAt, expiresAt ?? Infinity]))
  for (const instant of [...instants].sort((a, b) => a - b)) {
    if (instant > at) break
    spendUpTo(instant)
    // Grants of that very instant apply one by one, after the earlier grants for it.
    const given = grants.filter(({ createdAt }) => createdAt === instant)
    for (const { id, effectiveAt, grantedMicroUsd } of new Set([
      ...inOrder.filter((grant) => !given.includes(grant)),
      ...given
    ])) {
      if (effectiveAt !== instant) continue
      const paid = least(debt, grantedMicroUsd)
      debt -= paid
      left.set(id, grantedMicroUsd - paid)
    }
    for (const { id, expiresAt } of grants) {
      if (expiresAt !== instant) continue
      expired.set(id, left.get(id)!)
      left.set(id, 0n)
    }
  }
  spendUpTo(at)
  assert.equal(wallet.debtMicroUsd, debt, "what is owed")
  for (const { id, isPosted, remainingMicroUsd, expiredMicroUsd } of grants) {
    if (!isPosted) continue
    assert.equal(remainingMicroUsd, left.get(id), "what is left of a grant")
    assert.equal(expiredMicroUsd, expired.get(id), "what expired of a grant")
  }
}
