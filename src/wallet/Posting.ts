/**
 * What one posting makes of an account: pure. Its segments and its grants' instants are taken in the order of time, so that whatever was used
 * before credit expires can be paid by it, and nothing that was used later.
 */
import { type Allocation, Book, type Entry, type Spent, usageId, type Wallet } from "./Allocation.ts"
import { total } from "./Cost.ts"
import type { Segment } from "./Fold.ts"
import type { Grant } from "./Grant.ts"

export interface ToPost {
  readonly wallet: Wallet
  /** All that have something left or are not posted yet, and those in `spent`. */
  readonly grants: ReadonlyArray<Grant>
  readonly segments: ReadonlyArray<Segment>
  /** See `spentNeeded`. */
  readonly spent: ReadonlyArray<Spent>
  /** Everything up to here is known: grants' instants up to here are due. Epoch milliseconds. */
  readonly through: number
  /** When it is posted, epoch milliseconds. */
  readonly postedAt: number
  readonly nameOf: (sandboxId: string) => string
}

export interface Posted {
  readonly wallet: Wallet
  /** Those that changed. */
  readonly changedGrants: ReadonlyArray<Grant>
  /** All that went in, in the order in which they are spent. */
  readonly grants: ReadonlyArray<Grant>
  readonly entries: ReadonlyArray<Entry>
  readonly allocations: ReadonlyArray<Allocation>
}

/** When a grant next changes by itself; null: not any more. */
const nextInstant = (grant: Grant): number | null =>
  grant.isPosted ? (grant.remainingMicroUsd > 0n ? grant.expiresAt : null) : grant.effectiveAt

/** The earliest instant at which one of these becomes effective or expires. */
export const grantsDueAt = (grants: ReadonlyArray<Grant>): number | null =>
  grants.reduce<number | null>((earliest, grant) => {
    const instant = nextInstant(grant)
    return instant === null || (earliest !== null && earliest <= instant) ? earliest : instant
  }, null)

/** Where segments have to end. Ascending. */
export const grantCuts = (grants: ReadonlyArray<Grant>): ReadonlyArray<number> =>
  [
    ...new Set(
      grants.flatMap(({ effectiveAt, expiresAt }) => (expiresAt === null ? [effectiveAt] : [effectiveAt, expiresAt]))
    )
  ].toSorted((a, b) => a - b)

/** The entries of which reversals take back, and how much they take back in all. */
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

/** Due instants, in order; at the same one, what becomes effective comes before what expires. */
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
