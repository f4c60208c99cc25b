/** Gives an account a grant, while its locks are held. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { newId } from "../platform/identifier/newId.ts"
import type { Grant, GrantKind } from "./Grant.ts"
import { readAllGrants } from "./LedgerReads.ts"
import { insertGrant } from "./LedgerWrites.ts"
import { formatUsd, grantedMaxMicroUsd, grantMaxMicroUsd } from "./Money.ts"
import { notifyWallet } from "./notifyWallet.ts"
import { hold, settleHeld } from "./settleAccount.ts"

/** A grant that is not made. `message` is a sentence that says why. */
export class CreditRefused extends Schema.TaggedError<CreditRefused>()("CreditRefused", { message: Schema.String }) {}

export interface NewGrant {
  readonly accountId: string
  readonly kind: GrantKind
  readonly microUsd: bigint
  /** Absent, or past: now. */
  readonly effectiveAt?: number
  readonly expiresAt: number | null
  readonly description: string
}

const sumGranted = (sql: SqlClient.SqlClient) =>
  SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ granted: Schema.BigIntFromString }),
    execute: (accountId) => sql`
    select coalesce(sum(granted_micro_usd), 0)::text as granted from grants where account_id = ${accountId}`
  })

export const grantCredit = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, wanted: NewGrant) {
  const { accountId, kind, microUsd, expiresAt, description } = wanted
  const held = yield* hold(sql, accountId)
  const effectiveAt = Math.max(wanted.effectiveAt ?? held.now, held.now)
  const refuse = (message: string) => new CreditRefused({ message })
  if (microUsd <= 0n) return yield* refuse("A grant is of more than 0 USD.")
  if (microUsd > grantMaxMicroUsd) {
    return yield* refuse(`A grant is of ${formatUsd(grantMaxMicroUsd)} USD at most.`)
  }
  if (expiresAt !== null && expiresAt <= effectiveAt) {
    return yield* refuse("A grant expires after it has become effective, and not before now.")
  }
  const { granted } = yield* sumGranted(sql)(accountId)
  if (granted + microUsd > grantedMaxMicroUsd) {
    return yield* refuse(`All grants of an account together are of ${formatUsd(grantedMaxMicroUsd)} USD at most.`)
  }
  yield* settleHeld(sql, held, held.now, null)
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
  yield* settleHeld(sql, yield* hold(sql, accountId), held.now, null)
  yield* notifyWallet(sql, accountId)
  return (yield* readAllGrants(sql, accountId)).find(({ id }) => id === made.id)!
})
