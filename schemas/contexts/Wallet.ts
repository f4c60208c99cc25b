/** The context of a wallet's machine: its type, and its stored form. Amounts are whole micro-USD, as safe integers. */
import { Schema } from "effect"

export const WalletContext = Schema.Struct({
  accountId: Schema.String,
  createdAt: Schema.Number,
  balanceMicroUsd: Schema.Number,
  /** The cost of an hour at the present burn. */
  burnMicroUsdPerHour: Schema.Number,
  /** The sum of the grants that can be spent. */
  grantedMicroUsd: Schema.Number,
  /** When nothing will be left, at the present burn; null: never. */
  exhaustedAt: Schema.NullOr(Schema.Number),
  /** When it will be low, at the present burn; null: never. */
  lowAt: Schema.NullOr(Schema.Number),
  /** When the ledger must be asked again; null: not before something changes. */
  nextAt: Schema.NullOr(Schema.Number),
  /** Since when the operator has suspended the account; null: it is not. */
  suspendedAt: Schema.NullOr(Schema.Number),
  /** The instant of the figures; null: there are none yet. */
  reckonedAt: Schema.NullOr(Schema.Number),
  /** The ledger is being asked. */
  isReckoning: Schema.Boolean,
  /** Something changed since it was asked: it is asked once more. */
  isStale: Schema.Boolean,
  /** From when on the account's Sandboxes may not run; null: they may. */
  stopAt: Schema.NullOr(Schema.Number)
})
export interface WalletContext extends Schema.Schema.Type<typeof WalletContext> {}
