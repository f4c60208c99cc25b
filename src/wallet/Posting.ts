/**
 * The result of one posting for an account: pure. Segments and changes of grants are applied in the order of time, so that credit pays the
 * usage before its expiry, and none after it.
 */
import { type Allocation, Book, type Entry, type Spent, usageId, type Wallet } from "./Allocation.ts"
import { total } from "./Cost.ts"
import type { Segment } from "./Fold.ts"
import type { Grant } from "./Grant.ts"

export interface ToPost {
  readonly wallet: Wallet
  /** All grants with remaining credit or not yet posted, and those in `spent`. */
  readonly grants: ReadonlyArray<Grant>
  readonly segments: ReadonlyArray<Segment>
  /** See `spentNeeded`. */
  readonly spent: ReadonlyArray<Spent>
  /** Epoch milliseconds up to which everything is known: changes of grants up to here are due. */
  readonly through: number
  /** Epoch milliseconds of the posting. */
  readonly postedAt: number
  readonly nameOf: (sandboxId: string) => string
}

export interface Posted {
  readonly wallet: Wallet
  /** Grants that changed. */
  readonly changedGrants: ReadonlyArray<Grant>
  /** All given grants, in spending order. */
  readonly grants: ReadonlyArray<Grant>
  readonly entries: ReadonlyArray<Entry>
  readonly allocations: ReadonlyArray<Allocation>
}

/** The next change of a grant by time; null: none. */
const nextInstant = (grant: Grant): number | null =>
  grant.isPosted ? (grant.remainingMicroUsd > 0n ? grant.expiresAt : null) : grant.effectiveAt

/** The earliest instant at which one of these grants becomes effective or expires. */
export const grantsDueAt = (grants: ReadonlyArray<Grant>): number | null =>
  grants.reduce<number | null>((earliest, grant) => {
    const instant = nextInstant(grant)
    return instant === null || (earliest !== null && earliest <= instant) ? earliest : instant
  }, null)

/** The instants at which segments must end. Ascending. */
export const grantCuts = (grants: ReadonlyArray<Grant>): ReadonlyArray<number> =>
  [
    ...new Set(
      grants.flatMap(({ effectiveAt, expiresAt }) => (expiresAt === null ? [effectiveAt] : [effectiveAt, expiresAt]))
    )
  ].toSorted((a, b) => a - b)

/** The entries that reversals reverse in part, and the total amount. */
export const spentNeeded = (segments: ReadonlyArray<Segment>) => {
  const reversing = segments.filter(({ sign, cost }) => sign === -1 && total(cost) !== 0n)
  return {
    entryIds: [...new Set(reversing.map(({ sandboxId, takesBack }) => usageId(sandboxId, takesBack!)))],
    microUsd: reversing.reduce((sum, { cost }) => sum - total(cost), 0n)
  }
}

interface Due {
  readonly at: number
  readonly grantId: string
  readonly step: "post" | "expire"
}

/** Due changes, in order; at the same instant grants become effective before others expire. */
const dueOf = (grants: ReadonlyArray<Grant>, through: number): Array<Due> =>
  grants
    .flatMap(
      ({ id, isPosted, effectiveAt, expiresAt }): Array<Due> => [
        ...(isPosted ? [] : [{ at: effectiveAt, grantId: id, step: "post" as const }]),
        ...(expiresAt === null ? [] : [{ at: expiresAt, grantId: id, step: "expire" as const }])
      ]
    )
    .filter(({ at }) => at <= through)
    .toSorted((a, b) => a.at - b.at || Number(b.step === "post") - Number(a.step === "post"))

const inOrder = (a: Segment, b: Segment): number =>
  a.to - b.to || (a.sandboxId < b.sandboxId ? -1 : a.sandboxId > b.sandboxId ? 1 : a.number - b.number)

export const post = (toPost: ToPost): Posted => {
  const { wallet, grants, segments, spent, through, postedAt, nameOf } = toPost
  const before = new Map(grants.map((grant) => [grant.id, grant]))
  const book = new Book(wallet, grants, spent)
  for (const segment of segments) {
    if (segment.sign === -1) book.reversal(segment, postedAt, `Ended earlier: ${nameOf(segment.sandboxId)}`)
  }
  const due = dueOf(book.grants, through)
  for (const segment of segments.filter(({ sign }) => sign === 1).toSorted(inOrder)) {
    while (due[0] !== undefined && due[0].at < segment.to) book[due[0].step](due.shift()!.grantId)
    book.usage(segment, nameOf(segment.sandboxId))
  }
  for (const { step, grantId } of due) book[step](grantId)
  return {
    wallet: book.wallet,
    changedGrants: book.grants.filter((grant) => grant !== before.get(grant.id)),
    grants: book.grants,
    entries: book.entries,
    allocations: book.allocations
  }
}
