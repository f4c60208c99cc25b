/**
 * Applies entries to an account's grants, balance and debt: pure.
 *
 * Usage is taken from grants that have not expired at the end of its period: promotional grants first, then by earliest expiry, then by age. The
 * unpaid rest is debt, which the next grant or reversal pays first. A reversal returns credit to the grants it came from, latest first. Expired
 * credit is removed by a separate entry.
 *
 * Invariants: balance = sum of the entries = remaining credit of posted grants - debt; for each grant, granted = remaining + expired + allocated.
 *
 * @source contract-details.md "Usage and credit"
 */
import { derivedId } from "../platform/identifier/derivedId.ts"
import { total } from "./Cost.ts"
import type { Segment } from "./Fold.ts"
import type { Grant } from "./Grant.ts"
import { least } from "./Money.ts"

export interface Wallet {
  readonly accountId: string
  readonly balanceMicroUsd: bigint
  readonly debtMicroUsd: bigint
  /** The number of entries; they are numbered from 1. */
  readonly entries: bigint
}

export const entryKinds = ["grant", "usage", "expiry", "adjustment", "reversal"] as const

export type EntryKind = (typeof entryKinds)[number]

/** Times are epoch milliseconds. */
export interface Entry {
  readonly id: string
  readonly number: bigint
  readonly at: number
  readonly kind: EntryKind
  /** Signed. */
  readonly microUsd: bigint
  /** The balance after this entry. */
  readonly balanceMicroUsd: bigint
  readonly sandboxId: string | null
  readonly segment: number | null
  readonly period: { readonly from: number; readonly to: number } | null
  readonly description: string
  readonly grantId: string | null
  readonly reversesId: string | null
}

export interface Allocation {
  readonly entryId: string
  /** Its position within its entry. */
  readonly number: number
  readonly grantId: string
  /** Positive: taken from the grant. Negative: returned to it. */
  readonly microUsd: bigint
  /** The entry that took it. */
  readonly spentBy: string
}

/** The amount that one entry took from one grant and that was not returned. */
export interface Spent {
  readonly spentBy: string
  readonly grantId: string
  readonly microUsd: bigint
}

export const usageId = (sandboxId: string, segment: number): string =>
  derivedId("txn_", `segment ${sandboxId} ${segment}`)
const grantEntryId = (grantId: string) => derivedId("txn_", `grant ${grantId}`)
/** Unique, because a grant's expired amount grows with each expiry. */
const expiryId = (grant: Grant) => derivedId("txn_", `expiry ${grant.id} ${grant.expiredMicroUsd}`)

/** The order in which grants are spent. (The difference between two grants that never expire is NaN, and counts as equal.) */
export const spendingOrder = (a: Grant, b: Grant): number =>
  Number(b.kind === "promotional") - Number(a.kind === "promotional") ||
  (a.expiresAt ?? Number.POSITIVE_INFINITY) - (b.expiresAt ?? Number.POSITIVE_INFINITY) ||
  a.createdAt - b.createdAt ||
  (a.id < b.id ? -1 : 1)

/** An account's wallet and open grants during one posting: created from the stored state, and read for the state to store. */
export class Book {
  #wallet: Wallet
  readonly #grants: Map<string, Grant>
  readonly #spent: Array<Spent>
  readonly entries: Array<Entry> = []
  readonly allocations: Array<Allocation> = []

  /**
   * @param grants All grants with remaining credit or not yet posted, and those in `spent`.
   * @param spent Amounts that reversals may return, latest first: those of the reversed entries, and of others if those are not enough.
   */
  constructor(wallet: Wallet, grants: ReadonlyArray<Grant>, spent: ReadonlyArray<Spent>) {
    this.#wallet = wallet
    this.#grants = new Map(grants.toSorted(spendingOrder).map((grant) => [grant.id, grant]))
    this.#spent = [...spent]
  }

  get wallet(): Wallet {
    return this.#wallet
  }

  /** In spending order. */
  get grants(): ReadonlyArray<Grant> {
    return [...this.#grants.values()]
  }

  /** Adds no entry if the cost is 0. */
  usage(segment: Segment, description: string): void {
    const cost = total(segment.cost)
    if (cost === 0n) return
    const { sandboxId, number, from, to } = segment
    const id = usageId(sandboxId, number)
    this.#enter({
      id,
      at: to,
      kind: "usage",
      microUsd: -cost,
      sandboxId,
      segment: number,
      period: { from, to },
      description
    })
    let open = cost
    for (const grant of this.#grants.values()) {
      if (open === 0n) break
      if (!grant.isPosted || (grant.expiresAt !== null && grant.expiresAt < to)) continue
      open -= this.#take(id, grant, open)
    }
    this.#owe(open)
  }

  /** Reverses a part of an earlier segment's usage. */
  reversal(segment: Segment, at: number, description: string): void {
    const amount = -total(segment.cost)
    if (amount === 0n) return
    const { sandboxId, number, from, to } = segment
    const id = usageId(sandboxId, number)
    const reversesId = usageId(sandboxId, segment.takesBack!)
    this.#enter({
      id,
      at,
      kind: "reversal",
      microUsd: amount,
      sandboxId,
      segment: number,
      period: { from, to },
      description,
      reversesId
    })
    const paid = least(amount, this.#wallet.debtMicroUsd)
    this.#owe(-paid)
    const left = this.#giveBack(id, amount - paid, (spent) => spent.spentBy === reversesId)
    if (this.#giveBack(id, left, () => true) > 0n) throw new Error(`More was reversed by ${id} than was ever taken.`)
  }

  /** Posts a grant at its effective time. */
  post(grantId: string): void {
    const grant = this.#grants.get(grantId)!
    const id = grantEntryId(grantId)
    this.#grants.set(grantId, { ...grant, isPosted: true })
    this.#enter({
      id,
      at: Math.max(grant.effectiveAt, grant.createdAt),
      kind: grant.kind === "adjustment" ? "adjustment" : "grant",
      microUsd: grant.grantedMicroUsd,
      description: grant.description,
      grantId
    })
    const debt = this.#wallet.debtMicroUsd
    if (debt > 0n) this.#owe(-this.#take(id, this.#grants.get(grantId)!, debt))
  }

  /** Removes the remaining credit of a grant. */
  expire(grantId: string): void {
    const grant = this.#grants.get(grantId)!
    const left = grant.remainingMicroUsd
    if (!grant.isPosted || left === 0n) return
    this.#enter({
      id: expiryId(grant),
      at: grant.expiresAt!,
      kind: "expiry",
      microUsd: -left,
      description: `Expired: ${grant.description}`,
      grantId
    })
    this.#grants.set(grantId, {
      ...grant,
      remainingMicroUsd: 0n,
      expiredMicroUsd: grant.expiredMicroUsd + left
    })
  }

  #enter(
    entry: Pick<Entry, "id" | "at" | "kind" | "microUsd" | "description"> &
      Partial<Pick<Entry, "sandboxId" | "segment" | "period" | "grantId" | "reversesId">>
  ): void {
    const { accountId, debtMicroUsd } = this.#wallet
    const entries = this.#wallet.entries + 1n
    const balanceMicroUsd = this.#wallet.balanceMicroUsd + entry.microUsd
    this.#wallet = { accountId, balanceMicroUsd, debtMicroUsd, entries }
    this.entries.push({
      sandboxId: null,
      segment: null,
      period: null,
      grantId: null,
      reversesId: null,
      ...entry,
      number: entries,
      balanceMicroUsd
    })
  }

  #owe(microUsd: bigint): void {
    this.#wallet = { ...this.#wallet, debtMicroUsd: this.#wallet.debtMicroUsd + microUsd }
  }

  #allocate(entryId: string, grantId: string, microUsd: bigint, spentBy: string): void {
    let number = 0
    for (let i = this.allocations.length - 1; this.allocations[i]?.entryId === entryId; i--) number++
    this.allocations.push({ entryId, number, grantId, microUsd, spentBy })
    const grant = this.#grants.get(grantId)!
    this.#grants.set(grantId, { ...grant, remainingMicroUsd: grant.remainingMicroUsd - microUsd })
  }

  /** Returns the amount that the grant could pay. */
  #take(entryId: string, grant: Grant, microUsd: bigint): bigint {
    const taken = least(microUsd, grant.remainingMicroUsd)
    if (taken === 0n) return 0n
    this.#allocate(entryId, grant.id, taken, entryId)
    return taken
  }

  /** Returns the amount that could not be returned to its grants. */
  #giveBack(entryId: string, microUsd: bigint, isMeant: (spent: Spent) => boolean): bigint {
    let left = microUsd
    for (const [i, spent] of this.#spent.entries()) {
      if (left === 0n) break
      if (spent.microUsd === 0n || !isMeant(spent)) continue
      const given = least(left, spent.microUsd)
      this.#allocate(entryId, spent.grantId, -given, spent.spentBy)
      this.#spent[i] = { ...spent, microUsd: spent.microUsd - given }
      left -= given
    }
    return left
  }
}
