/**
 * The wallet of one account: whether it can go on, and when that ends.
 *
 * Credit and costs stand in the ledger (`src/wallet/`). This machine asks it whenever something has changed, keeps what it was
 * told, and waits for the instants that it was told: when to ask again, and when the account's Sandboxes have to be stopped. Between those
 * nothing happens, and an account at rest waits for none. It never ends: an account does not.
 *
 * Amounts are whole micro-USD, as safe integers; every event carries `at` (epoch milliseconds, from the host's clock).
 *
 * @source design.md "Money", contract-details.md "Usage and credit"
 */
import { assign, setup } from "xstate"
import type { WalletContext } from "../schemas/contexts/Wallet.ts"
import type { StateMeta } from "./meta.ts"

export interface WalletInput {
  readonly accountId: string
  readonly at: number
}

export type WalletEvent =
  /** A Sandbox began or ended something that costs, or the operator changed the account, its credit or the rates. */
  | { readonly type: "CHANGED"; readonly at: number }
  /** What the ledger says. `graceMs`: for how long Sandboxes may go on when nothing is left. */
  | {
      readonly type: "RECKONED"
      readonly at: number
      readonly status: "unlimited" | "funded" | "low" | "exhausted"
      readonly balanceMicroUsd: number
      readonly burnMicroUsdPerHour: number
      readonly grantedMicroUsd: number
      readonly exhaustedAt: number | null
      readonly lowAt: number | null
      readonly nextAt: number | null
      readonly suspendedAt: number | null
      readonly reckonedAt: number
      readonly graceMs: number
    }
  /** The instant `nextAt` has come, or what changed meanwhile is to be looked at. */
  | { readonly type: "DUE"; readonly at: number }
  /** The instant `stopAt` has come. */
  | { readonly type: "STOP_DUE"; readonly at: number }

type Reckoned = Extract<WalletEvent, { readonly type: "RECKONED" }>

/** When the grace is over in which Sandboxes go on without credit, in epoch milliseconds; null: there is credit. */
const graceOverAt = (
  { status, exhaustedAt, reckonedAt }: Pick<Reckoned, "status" | "exhaustedAt" | "reckonedAt">,
  graceMs: number
): number | null => (status === "exhausted" ? Math.ceil((exhaustedAt ?? reckonedAt) + graceMs) : null)

/** Whether the account's Sandboxes may go on after all, by what the ledger says now: the question before each batch of stops. */
export const mayGoOn = (
  told: Pick<Reckoned, "status" | "exhaustedAt" | "reckonedAt" | "suspendedAt">,
  graceMs: number
): boolean => {
  const endsAt = graceOverAt(told, graceMs)
  return told.suspendedAt === null && (endsAt === null || told.reckonedAt < endsAt)
}

const stopSuspended = {
  type: "stopSandboxes",
  params: { code: "ACCOUNT_SUSPENDED", message: "The account is suspended. The volume is kept." }
} as const

const stopExhausted = {
  type: "stopSandboxes",
  params: { code: "CREDIT_EXHAUSTED", message: "The account has no credit left. The volume is kept." }
} as const

/** One question at a time, and one more if something came meanwhile. */
const asks = [
  { guard: "isAtRest", actions: ["noteAsked", { type: "reckon" }], description: "The ledger is asked." },
  { guard: "isAsked", actions: ["noteStale"], description: "The ledger is just being asked: it is asked once more." }
] as const

/** What was told, and the instants to wait for; what changed since it was asked is due at once. */
const noted = [
  "noteFigures",
  {
    type: "schedule",
    params: ({ context: { isStale, reckonedAt, nextAt } }: { readonly context: WalletContext }) => ({
      name: "due",
      at: isStale ? reckonedAt : nextAt,
      event: { type: "DUE" }
    })
  },
  {
    type: "schedule",
    params: ({ context: { stopAt } }: { readonly context: WalletContext }) => ({
      name: "stop",
      at: stopAt,
      event: { type: "STOP_DUE" }
    })
  },
  "noteFresh"
] as const

const reckoned = [
  {
    guard: { type: "is", params: { status: "unlimited" } },
    target: "unlimited",
    actions: noted,
    description: "The account may use what it likes."
  },
  {
    guard: { type: "is", params: { status: "funded" } },
    target: "funded",
    actions: noted,
    description: "There is credit enough."
  },
  {
    guard: { type: "is", params: { status: "low" } },
    target: "low",
    actions: noted,
    description: "There is credit, and not much."
  },
  {
    guard: { type: "is", params: { status: "exhausted" } },
    target: "exhausted",
    actions: noted,
    description: "Nothing is left."
  }
] as const

const stopsIfSuspended = {
  guard: "isSuspended",
  actions: [stopSuspended],
  description: "The account is suspended: whatever of it runs is stopped."
} as const

export const walletMachine = setup({
  types: {
    input: {} as WalletInput,
    context: {} as WalletContext,
    events: {} as WalletEvent,
    meta: {} as StateMeta,
    /** Credit is not what limits the account. */
    tags: {} as "unlimited"
  },
  guards: {
    /** The ledger is not being asked. */
    isAtRest: ({ context }) => !context.isReckoning,
    /** The ledger is being asked, and nothing changed since. */
    isAsked: ({ context }) => context.isReckoning && !context.isStale,
    /** That is what the ledger says. */
    is: ({ event }, { status }: { readonly status: string }) => event.type === "RECKONED" && event.status === status,
    /** The operator has suspended the account. */
    isSuspended: ({ context }) => context.suspendedAt !== null
  },
  actions: {
    /** Command: ask the ledger, which posts what is due. Answers RECKONED. */
    reckon: () => {},
    /** Command: stop every Sandbox of the account that runs, sleeps or boots, unless the account may go on after all. Answers nothing, or CHANGED. */
    stopSandboxes: (_, _params: { readonly code: string; readonly message: string }) => {},
    /** Deadline: replaces an earlier one of the same name; null forgets it. */
    schedule: (
      _,
      _params: {
        readonly name: string
        readonly at: number | null
        readonly event: { readonly type: string } & Record<string, unknown>
      }
    ) => {},

    noteAsked: assign({ isReckoning: true }),
    noteStale: assign({ isStale: true }),
    noteFresh: assign({ isStale: false }),
    noteFigures: assign(({ event }) => {
      if (event.type !== "RECKONED") return {}
      const { status, exhaustedAt, suspendedAt, reckonedAt, graceMs } = event
      return {
        balanceMicroUsd: event.balanceMicroUsd,
        burnMicroUsdPerHour: event.burnMicroUsdPerHour,
        grantedMicroUsd: event.grantedMicroUsd,
        exhaustedAt,
        lowAt: event.lowAt,
        nextAt: event.nextAt,
        suspendedAt,
        reckonedAt,
        isReckoning: false,
        stopAt: suspendedAt ?? graceOverAt({ status, exhaustedAt, reckonedAt }, graceMs)
      }
    })
  }
}).createMachine({
  id: "wallet",
  version: "1",
  description: "What one account has left, and until when.",
  // `input?.`: where only an actor's scope is wanted, one is made of this machine without input, and its context thrown away.
  context: ({ input }) => ({
    accountId: input?.accountId,
    createdAt: input?.at,
    balanceMicroUsd: 0,
    burnMicroUsdPerHour: 0,
    grantedMicroUsd: 0,
    exhaustedAt: null,
    lowAt: null,
    nextAt: null,
    suspendedAt: null,
    reckonedAt: null,
    isReckoning: true,
    isStale: false,
    stopAt: null
  }),
  initial: "opening",
  states: {
    opening: {
      description: "Made just now: the ledger is asked for the first time.",
      meta: { unchanged: ["CHANGED"], refuses: { DUE: "STALE_DEADLINE", STOP_DUE: "STALE_DEADLINE" } },
      entry: [{ type: "reckon" }],
      on: {
        CHANGED: asks[1],
        RECKONED: reckoned
      }
    },
    unlimited: {
      description: "The operator's own: what it uses is recorded, and nothing is refused for want of credit.",
      tags: ["unlimited"],
      meta: { unchanged: ["CHANGED", "DUE"], refuses: { STOP_DUE: "STALE_DEADLINE" } },
      on: {
        CHANGED: asks,
        DUE: asks,
        RECKONED: reckoned,
        STOP_DUE: stopsIfSuspended
      }
    },
    funded: {
      description: "There is credit for more than a day of what burns now, and more than a tenth of what was granted.",
      meta: { unchanged: ["CHANGED", "DUE"], refuses: { STOP_DUE: "STALE_DEADLINE" } },
      on: {
        CHANGED: asks,
        DUE: asks,
        RECKONED: reckoned,
        STOP_DUE: stopsIfSuspended
      }
    },
    low: {
      description: "Credit for less than a day of what burns now, or less than a tenth of what was granted, is left.",
      meta: { unchanged: ["CHANGED", "DUE"], refuses: { STOP_DUE: "STALE_DEADLINE" } },
      on: {
        CHANGED: asks,
        DUE: asks,
        RECKONED: reckoned,
        STOP_DUE: stopsIfSuspended
      }
    },
    exhausted: {
      description:
        "Nothing is left: whatever costs is refused, and after a grace time what runs is stopped. Volumes stay.",
      meta: { unchanged: ["CHANGED", "DUE"], refuses: {} },
      on: {
        CHANGED: asks,
        DUE: asks,
        RECKONED: reckoned,
        STOP_DUE: [
          stopsIfSuspended,
          { actions: [stopExhausted], description: "The grace time is over: whatever runs is stopped." }
        ]
      }
    }
  }
})
