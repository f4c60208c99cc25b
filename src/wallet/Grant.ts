/** Credit that was given to an account: how much, of what kind, and from when to when it may be spent. */
export const grantKinds = ["promotional", "purchase", "adjustment"] as const

export type GrantKind = (typeof grantKinds)[number]

export interface Grant {
  readonly id: string
  readonly kind: GrantKind
  readonly grantedMicroUsd: bigint
  /** What can still be spent: granted - allocated - expired. */
  readonly remainingMicroUsd: bigint
  /** What nobody spent in time. */
  readonly expiredMicroUsd: bigint
  /** Epoch milliseconds. */
  readonly effectiveAt: number
  /** Epoch milliseconds: from then on nothing of it can be spent. Null: never. */
  readonly expiresAt: number | null
  /** Its effective instant has come, and its entry stands in the ledger. */
  readonly isPosted: boolean
  readonly description: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

/** Of one that was settled up to now. */
export const grantStatus = (grant: Grant): "active" | "used" | "expired" => {
  if (grant.remainingMicroUsd > 0n) return "active"
  return grant.expiredMicroUsd > 0n ? "expired" : "used"
}
