/**
 * Replays one account's money: applies its entries in order to the grants by the rules, and compares the result with the
 * books. After a difference it continues with the books' value, so that one fault is reported once.
 *
 * @source contract-details.md "Usage and credit": grants are spent promotional before others, then by earliest expiry, then by age
 */
import { derivedId } from "../../platform/identifier/derivedId.ts"
import type { Grant } from "../Grant.ts"
import type { Differences } from "./Differences.ts"

/** With the amounts taken from grants (positive) or returned (negative), in order. */
export interface PostedEntry {
  readonly id: string
  readonly number: bigint
  readonly at: number
  readonly kind: string
  readonly microUsd: bigint
  readonly balanceMicroUsd: bigint
  readonly sandboxId: string | null
  readonly segment: number | null
  readonly periodTo: number | null
  readonly grantId: string | null
  readonly allocations: ReadonlyArray<{ readonly grantId: string; readonly microUsd: bigint }>
}

export interface PostedWallet {
  readonly balanceMicroUsd: bigint
  readonly debtMicroUsd: bigint
  readonly entries: bigint
  /** Epoch milliseconds up to which all due changes have been posted. */
  readonly postedAt: number
}

interface Purse {
  readonly grant: Grant
  isPosted: boolean
  left: bigint
  expired: bigint
}

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)

const isBefore = (a: Grant, b: Grant): boolean => {
  if ((a.kind === "promotional") !== (b.kind === "promotional")) return a.kind === "promotional"
  if (a.expiresAt !== b.expiresAt) return b.expiresAt === null || (a.expiresAt !== null && a.expiresAt < b.expiresAt)
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt
  return a.id < b.id
}

const told = (allocations: PostedEntry["allocations"]): string =>
  allocations.length === 0
    ? "no grant"
    : allocations.map(({ grantId, microUsd }) => `${microUsd} of ${grantId}`).join(", ")

export class AccountReplay {
  readonly #accountId: string
  readonly #purses: Map<string, Purse>
  readonly #differences: Differences
  #balance = 0n
  #debt = 0n
  #entries = 0n
  /** Micro-USD of usage, less reversals. */
  used = 0n

  constructor(accountId: string, grants: ReadonlyArray<Grant>, differences: Differences) {
    this.#accountId = accountId
    this.#differences = differences
    this.#purses = new Map(
      [...grants]
        .sort((a, b) => (isBefore(a, b) ? -1 : 1))
        .map((grant) => [grant.id, { grant, isPosted: false, left: 0n, expired: 0n }])
    )
  }

  #compare<A extends string | number | bigint | boolean | null>(
    what: string,
    id: string | null,
    expected: A,
    found: A
  ): void {
    this.#differences.compare(what, this.#accountId, id, expected, found)
  }

  /** The next entry. */
  add(entry: PostedEntry): void {
    this.#entries += 1n
    this.#balance += entry.microUsd
    this.#compare("number of an entry", entry.id, this.#entries, entry.number)
    this.#compare("balance after an entry", entry.id, this.#balance, entry.balanceMicroUsd)
    this.#entries = entry.number
    this.#balance = entry.balanceMicroUsd
    if (entry.sandboxId !== null) this.#ofSandbox(entry)
    else this.#ofGrant(entry)
    for (const { grantId, microUsd } of entry.allocations) {
      const purse = this.#purses.get(grantId)
      if (purse === undefined) this.#differences.add("grant of an entry", this.#accountId, entry.id, "a grant", grantId)
      else purse.left -= microUsd
    }
  }

  #ofSandbox(entry: PostedEntry): void {
    this.#compare(
      "id of an entry",
      entry.id,
      derivedId("txn_", `segment ${entry.sandboxId} ${entry.segment}`),
      entry.id
    )
    this.used -= entry.microUsd
    const moved = entry.allocations.reduce((sum, { microUsd }) => sum + microUsd, 0n)
    if (entry.kind === "usage") {
      const due = this.#pay(-entry.microUsd, entry.periodTo!)
      this.#compare("what paid an entry", entry.id, told(due), told(entry.allocations))
    } else {
      const given = entry.microUsd - least(entry.microUsd, this.#debt)
      this.#compare("what a reversal gave back to grants", entry.id, given, -moved)
      const isTaking = entry.allocations.some(({ microUsd }) => microUsd > 0n)
      this.#compare("a reversal that takes", entry.id, false, isTaking)
    }
    this.#debt -= entry.microUsd + moved
  }

  /** The grants that pay for usage until an instant. */
  #pay(microUsd: bigint, until: number): PostedEntry["allocations"] {
    const paid: Array<PostedEntry["allocations"][number]> = []
    let open = microUsd
    for (const { grant, isPosted, left } of this.#purses.values()) {
      const taken = least(open, left)
      if (!isPosted || taken <= 0n || (grant.expiresAt !== null && grant.expiresAt < until)) continue
      paid.push({ grantId: grant.id, microUsd: taken })
      open -= taken
    }
    return paid
  }

  #ofGrant(entry: PostedEntry): void {
    const purse = this.#purses.get(entry.grantId ?? "")
    if (purse === undefined) {
      this.#differences.add("grant of an entry", this.#accountId, entry.id, "a grant", entry.grantId)
      return
    }
    const { grant } = purse
    if (entry.kind === "expiry") {
      this.#compare("what expired of a grant", grant.id, purse.left, -entry.microUsd)
      this.#compare("instant of an expiry", entry.id, grant.expiresAt, entry.at)
      this.#compare("what paid an expiry", entry.id, told([]), told(entry.allocations))
      purse.expired -= entry.microUsd
      purse.left += entry.microUsd
      return
    }
    this.#compare("kind of a grant's entry", entry.id, grant.kind === "adjustment" ? "adjustment" : "grant", entry.kind)
    this.#compare("a grant that was given before", grant.id, false, purse.isPosted)
    this.#compare("amount of a grant", grant.id, grant.grantedMicroUsd, entry.microUsd)
    this.#compare("instant of a grant", entry.id, Math.max(grant.effectiveAt, grant.createdAt), entry.at)
    const paid = least(this.#debt, grant.grantedMicroUsd)
    const due = paid > 0n ? [{ grantId: grant.id, microUsd: paid }] : []
    this.#compare("debt that a grant paid", entry.id, told(due), told(entry.allocations))
    this.#debt -= entry.allocations.reduce((sum, { microUsd }) => sum + microUsd, 0n)
    purse.isPosted = true
    purse.left += entry.microUsd
  }

  /** After the last entry. */
  end(wallet: PostedWallet): void {
    this.#compare("balance of the wallet", null, this.#balance, wallet.balanceMicroUsd)
    this.#compare("debt of the wallet", null, this.#debt, wallet.debtMicroUsd)
    this.#compare("number of entries of the wallet", null, this.#entries, wallet.entries)
    let left = 0n
    for (const { grant, isPosted, left: ownLeft, expired } of this.#purses.values()) {
      this.#compare("whether a grant has been given", grant.id, isPosted, grant.isPosted)
      this.#compare(
        "what is left of a grant",
        grant.id,
        isPosted ? ownLeft : grant.grantedMicroUsd,
        grant.remainingMicroUsd
      )
      this.#compare("what has expired of a grant", grant.id, expired, grant.expiredMicroUsd)
      const isDue = !isPosted && grant.effectiveAt <= wallet.postedAt
      this.#compare("a grant that has become effective and was not given", grant.id, false, isDue)
      const isOver = isPosted && ownLeft > 0n && grant.expiresAt !== null && grant.expiresAt <= wallet.postedAt
      this.#compare("credit that is past its expiry", grant.id, false, isOver)
      if (isPosted) left += ownLeft
    }
    this.#compare("balance, as what is left of grants less the debt", null, left - this.#debt, wallet.balanceMicroUsd)
  }
}
