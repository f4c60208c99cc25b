/** A grant of credit to an account: its amount, its kind, and the time in which it may be spent. */
export const grantKinds = ["promotional", "purchase", "adjustment"] as const

export type GrantKind = (typeof grantKinds)[number]

export interface Grant {
  readonly id: string
  readonly kind: GrantKind
  readonly grantedMicroUsd: bigint
  /** Remaining credit: granted - allocated - expired. */
  readonly remainingMicroUsd: bigint
  /** The amount that expired unspent. */
  readonly expiredMicroUsd: bigint
  /** Epoch milliseconds. */
  readonly effectiveAt: number
  /** Epoch milliseconds of its expiry; null: never. */
  readonly expiresAt: number | null
  /** It has become effective, and the ledger has its entry. */
  readonly isPosted: boolean
  readonly description: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** The status of a grant that is settled up to now. */
export const grantStatus = (grant: Grant): "active" | "used" | "expired" => {
  if (grant.remainingMicroUsd > 0n) return "active"
  return grant.expiredMicroUsd > 0n ? "expired" : "used"
}
