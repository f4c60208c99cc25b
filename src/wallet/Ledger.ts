/**
 * The ledger of every account: what its Sandboxes cost is folded out of their transition logs, posted, and taken from its grants, each time
 * in one transaction that also plans when nothing will be left.
 *
 * Locks are taken in this order: the rates (shared; exclusive to change them), the account's row of `wallets`, its row of `accounts`. Whoever
 * holds a lock on the latter may not call anything here in the same transaction, unless it made the account in it.
 *
 * @source contract-details.md "Usage and credit"; design.md "Money"
 */
import { Context, type Effect, Schema } from "effect"
import type { Grant, GrantKind } from "./Grant.ts"
import type { RateCard } from "./RateCard.ts"

export type WalletStatus = "unlimited" | "funded" | "low" | "exhausted"

/** An account's money at an instant. Times are epoch milliseconds. */
export interface Reckoning {
  readonly accountId: string
  readonly at: number
  readonly billing: "unlimited" | "prepaid"
  readonly suspendedAt: number | null
  readonly status: WalletStatus
  /** Posted, less what has been used since. Below 0 is debt: what an unlimited account has used, or a prepaid one in its grace time. */
  readonly balanceMicroUsd: bigint
  /** What an hour costs as things are. */
  readonly burnMicroUsdPerHour: bigint
  /** Granted in sum, of the grants that can be spent. */
  readonly grantedMicroUsd: bigint
  /** From when on nothing is left; null: never, as things are, or unlimited. */
  readonly exhaustedAt: number | null
  /** From when on it is low; null: never, as things are, or unlimited. */
  readonly lowAt: number | null
  /** When to `settle` next; null: not before something changes. */
  readonly nextAt: number | null
}

/** A grant that is not made. `message` is a sentence that says why. */
export class CreditRefused extends Schema.TaggedError<CreditRefused>()("CreditRefused", { message: Schema.String }) {}

/** A rate card that is not taken. `message` is a sentence that says why. */
export class RatesRefused extends Schema.TaggedError<RatesRefused>()("RatesRefused", { message: Schema.String }) {}

export interface NewGrant {
  readonly accountId: string
  readonly kind: GrantKind
  readonly microUsd: bigint
  /** Absent, or past: now. */
  readonly effectiveAt?: number
  readonly expiresAt: number | null
  readonly description: string
}

/** Every method is safe to repeat, and to call in two processes at once. An account that is not there is a defect. */
export class Ledger extends Context.Service<
  Ledger,
  {
    /** Posts what the log of one Sandbox says since it was last looked at. Null: not a Sandbox, or it never ran. */
    readonly foldSandbox: (
      sandboxId: string
    ) => Effect.Effect<{ readonly accountId: string; readonly isClosed: boolean } | null>
    /** Posts everything of an account up to an instant (now): usage, grants that have become effective, what has expired. Plans anew. */
    readonly settle: (accountId: string, at?: number) => Effect.Effect<Reckoning>
    /** As it stands at an instant (now). Reads, unless something is due: then it settles first. */
    readonly reckon: (accountId: string, at?: number) => Effect.Effect<Reckoning>
    /** The same with all grants, oldest first. */
    readonly balance: (accountId: string) => Effect.Effect<Reckoning & { readonly grants: ReadonlyArray<Grant> }>
    /** Settles, gives, plans anew and leaves a nudge for the running service, in one transaction. */
    readonly grant: (grant: NewGrant) => Effect.Effect<Grant, CreditRefused>
    /** A card that holds from an instant on (now), which may not be past. Leaves a nudge for each account that burns. */
    readonly setRates: (
      rates: Omit<RateCard, "createdAt" | "effectiveAt"> & { readonly effectiveAt?: number }
    ) => Effect.Effect<RateCard, RatesRefused>
    /** By their instants. */
    readonly rates: Effect.Effect<ReadonlyArray<RateCard>>
  }
>()("atoll/wallet/Ledger") {}
