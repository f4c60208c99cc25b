/** Accounts, rate cards and grants as the database has them: rows of their tables, and the same in JSON, where integers are text. */
import { Schema } from "effect"
import { Int8, Int8FromText } from "../store/Columns.ts"
import { type Grant, grantKinds } from "./Grant.ts"
import type { RateCard } from "./RateCard.ts"

export interface Account {
  readonly accountId: string
  readonly billing: "unlimited" | "prepaid"
  readonly suspendedAt: number | null
  readonly exhaustedAt: number | null
}

export const AccountRow = Schema.Struct({
  id: Schema.String,
  billing: Schema.Literals(["unlimited", "prepaid"]),
  suspended_at: Schema.NullOr(Int8),
  exhausted_at: Schema.NullOr(Int8)
})

export const accountOf = (row: typeof AccountRow.Type): Account => ({
  accountId: row.id,
  billing: row.billing,
  suspendedAt: row.suspended_at,
  exhaustedAt: row.exhausted_at
})

const cardRow = <Amount extends Schema.Top, Instant extends Schema.Top>(amount: Amount, instant: Instant) =>
  Schema.Struct({
    effective_at: instant,
    vcpu_second_nano_usd: amount,
    memory_gib_second_nano_usd: amount,
    volume_gib_second_nano_usd: amount,
    snapshot_gib_second_nano_usd: amount,
    created_at: instant
  })

export const CardRow = cardRow(Schema.BigInt, Int8)
export const CardInJson = cardRow(Schema.BigIntFromString, Int8FromText)

export const cardOf = (row: typeof CardRow.Type): RateCard => ({
  effectiveAt: row.effective_at,
  vcpuSecondNanoUsd: row.vcpu_second_nano_usd,
  memoryGibSecondNanoUsd: row.memory_gib_second_nano_usd,
  volumeGibSecondNanoUsd: row.volume_gib_second_nano_usd,
  snapshotGibSecondNanoUsd: row.snapshot_gib_second_nano_usd,
  createdAt: row.created_at
})

const grantRow = <Amount extends Schema.Top, Instant extends Schema.Top>(amount: Amount, instant: Instant) =>
  Schema.Struct({
    id: Schema.String,
    kind: Schema.Literals(grantKinds),
    granted_micro_usd: amount,
    remaining_micro_usd: amount,
    expired_micro_usd: amount,
    effective_at: instant,
    expires_at: Schema.NullOr(instant),
    is_posted: Schema.Boolean,
    description: Schema.String,
    created_at: instant
  })

export const GrantRow = grantRow(Schema.BigInt, Int8)
export const GrantInJson = grantRow(Schema.BigIntFromString, Int8FromText)

export const grantOf = (row: typeof GrantRow.Type): Grant => ({
  id: row.id,
  kind: row.kind,
  grantedMicroUsd: row.granted_micro_usd,
  remainingMicroUsd: row.remaining_micro_usd,
  expiredMicroUsd: row.expired_micro_usd,
  effectiveAt: row.effective_at,
  expiresAt: row.expires_at,
  isPosted: row.is_posted,
  description: row.description,
  createdAt: row.created_at
})
