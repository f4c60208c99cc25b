/** An account's usage, its cost, and the credit that pays for it. */
import { Effect, Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, OpenApi } from "effect/http-api"
import { Authorized, RequiredScope } from "./Access.ts"
import { InvalidRequest } from "./Errors.ts"
import { ImageId, SandboxId, SnapshotId } from "./Identifiers.ts"
import { costGroupsMax, reportWindowMaxDays } from "./Limits.ts"
import { instant, NextCursor, page } from "./Query.ts"
import { Timestamp } from "./Text.ts"

const microUsd = (description: string) => Schema.Int.annotate({ description, format: "int64" })
const counted = (description: string) => Schema.Int.annotate({ description })
const seconds = (description: string) => Schema.Finite.annotate({ description })
const asOf = Timestamp.annotate({
  description: "What happened up to here is in it: the end of the window, or now if that is earlier."
})

export const Usage = Schema.Struct({
  from: Timestamp.annotate({ description: "The begin of the window." }),
  to: Timestamp.annotate({ description: "The end of the window, exclusive." }),
  asOf,
  sandboxSeconds: seconds("Time in status running, of all Sandboxes together."),
  vcpuSeconds: seconds("That time, times the vCPUs of each."),
  memoryMibSeconds: seconds("That time, times the MiB of memory of each."),
  volumeMibSeconds: seconds("From a Sandbox's first boot to its deletion, times the MiB of its volume."),
  snapshotMibSeconds: seconds(
    "Of each snapshot and image from when it was ready to its deletion, times the MiB that it stores (storedBytes)."
  ),
  cpuSeconds: Schema.NullOr(Schema.Finite).annotate({
    description: "CPU time that was really used, as measured. Null: not measured."
  }),
  operations: counted("Operations that were started, with every outcome."),
  executes: counted("Synchronous commands that were started and have ended.")
}).annotate({
  identifier: "Usage",
  description: "What was used within a window."
})
export interface Usage extends Schema.Schema.Type<typeof Usage> {}

const GrantId = Schema.String.annotate({
  description: "The id of a grant.",
  examples: ["grt_06a1b2c3d4e5f6g7h8j9kamnpq"]
})
const TransactionId = Schema.String.annotate({
  description: "The id of a transaction.",
  examples: ["txn_06a1b2c3d4e5f6g7h8j9kamnpq"]
})

export const CreditGrant = Schema.Struct({
  id: GrantId,
  kind: Schema.Literals(["promotional", "purchase", "adjustment"]).annotate({
    description: "promotional: a gift, which is spent first. purchase: paid for. adjustment: made good by the operator."
  }),
  grantedMicroUsd: microUsd("How much was given."),
  remainingMicroUsd: microUsd(
    "What is left of it after the last posting; what was used since then is not taken from it yet."
  ),
  expiredMicroUsd: microUsd("The part that expired unspent."),
  effectiveAt: Timestamp.annotate({ description: "From then on it can be spent." }),
  expiresAt: Schema.NullOr(Timestamp).annotate({ description: "From then on it cannot be spent; null: never." }),
  status: Schema.Literals(["active", "used", "expired"]).annotate({
    description:
      "active: something is left, now or from effectiveAt on. used: all of it was spent. expired: what was not spent in time is gone."
  })
}).annotate({ identifier: "CreditGrant", description: "Credit that was given, and what is left of it." })
export interface CreditGrant extends Schema.Schema.Type<typeof CreditGrant> {}

export const Balance = Schema.Struct({
  currency: Schema.Literal("USD").annotate({ description: "Of all amounts." }),
  microUsd: microUsd(
    "What is left as of asOf: granted, less what was used and what has expired. Below 0: what an unlimited account has used, or what was used in the grace time."
  ),
  status: Schema.Literals(["unlimited", "funded", "low", "exhausted"]).annotate({
    description:
      "unlimited: nothing is refused. low: less than a day of the present burn, or a tenth of the granted credit, is left. exhausted: nothing is left; see 402."
  }),
  asOf: Timestamp.annotate({ description: "The instant of all of this." }),
  burnMicroUsdPerHour: microUsd("What an hour costs as things are."),
  exhaustsAt: Schema.NullOr(Timestamp).annotate({
    description: "From when on nothing is left, as things are; null: never, or unlimited."
  }),
  grants: Schema.Array(CreditGrant).annotate({ description: "Oldest first." })
}).annotate({
  identifier: "Balance",
  description: "What is left of the account's credit."
})
export interface Balance extends Schema.Schema.Type<typeof Balance> {}

export const WalletTransaction = Schema.Struct({
  id: TransactionId,
  at: Timestamp.annotate({ description: "When what it is about happened; of usage, the end of its period." }),
  postedAt: Timestamp.annotate({ description: "When it was entered." }),
  kind: Schema.Literals(["grant", "usage", "expiry", "adjustment", "reversal"]).annotate({
    description:
      "adjustment: a grant of that kind. expiry: what was left of a grant that expired. reversal: gives back usage that was posted although its Sandbox had ended before."
  }),
  microUsd: microUsd("What it adds to the balance; usage and expiry are negative."),
  balanceMicroUsd: microUsd("The balance after it."),
  sandboxId: Schema.NullOr(SandboxId).annotate({
    description:
      "Of usage and its reversal: whose. Of a snapshot's: the Sandbox that it was taken of; null: it was imported."
  }),
  snapshotId: Schema.NullOr(SnapshotId).annotate({ description: "Of usage of a snapshot and its reversal: whose." }),
  imageId: Schema.NullOr(ImageId).annotate({ description: "Of usage of an image and its reversal: whose." }),
  period: Schema.NullOr(
    Schema.Struct({
      from: Timestamp.annotate({ description: "Inclusive." }),
      to: Timestamp.annotate({ description: "Exclusive." })
    })
  ).annotate({ description: "Of usage and its reversal: when it was; within one UTC day." }),
  description: Schema.String.annotate({ description: "For people: whose usage, which grant." }),
  grants: Schema.Array(
    Schema.Struct({
      grantId: GrantId,
      microUsd: microUsd("What it adds to what is left of the grant; negative: takes.")
    })
  ).annotate({
    description: "How it changed grants. What microUsd has beyond them was owed, or paid what had been owed."
  }),
  reversesId: Schema.NullOr(TransactionId).annotate({
    description: "Of a reversal: the transaction of which it gives back."
  })
}).annotate({
  identifier: "WalletTransaction",
  description: "One entry of the ledger: credit that came, or money that was used."
})
export interface WalletTransaction extends Schema.Schema.Type<typeof WalletTransaction> {}

export const costGroupings = ["sandbox", "day", "workspace"] as const

export const Cost = Schema.Struct({
  key: Schema.String.annotate({
    description:
      "The Sandbox's id (an imported snapshot's own), the workspace's id, or the UTC day. Of an image: its own id, and `images` in the place of a workspace.",
    examples: ["2026-11-22"]
  }),
  name: Schema.NullOr(Schema.String).annotate({
    description: "Of the Sandbox or the workspace; null where it has none, and for days."
  }),
  microUsd: microUsd("The sum of its components."),
  sandboxSeconds: seconds("Time in status running."),
  components: Schema.Struct({
    vcpuMicroUsd: microUsd("vCPUs, while running."),
    memoryMicroUsd: microUsd("Memory, while running."),
    volumeMicroUsd: microUsd("Volumes, from the first boot to deletion."),
    snapshotMicroUsd: microUsd(
      "What snapshots and images store, from when each was ready to its deletion. That of a snapshot counts for the Sandbox that it was taken of, even if that is deleted."
    )
  }).annotate({ description: "What it is made of." })
}).annotate({ identifier: "Cost", description: "What one group of a report cost." })
export interface Cost extends Schema.Schema.Type<typeof Cost> {}

const window = {
  from: Schema.optionalKey(
    instant("Begin of the window; by default that of the current UTC month, or of the one that `to` ends or is in.")
  ),
  to: Schema.optionalKey(instant("End of the window, exclusive; the end of the current UTC month by default."))
}

const windowNote = `A window is at most ${reportWindowMaxDays} days long; adjacent windows add up exactly.`

export class UsageGroup extends HttpApiGroup.make("usage")
  .add(
    HttpApiEndpoint.get("readUsage", "/usage", {
      query: window,
      success: Schema.Struct({ usage: Usage }).annotate({
        identifier: "UsageResponse",
        description: "What the account used in a window of time."
      }),
      error: InvalidRequest
    })
      .annotate(RequiredScope, "usage:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readUsage",
          summary: "What the account used",
          description: [
            windowNote,
            "",
            "- vCPUs, memory and volumes are counted as they were allocated, of deleted Sandboxes too, to the millisecond; snapshots and images by what they store; cpuSeconds was measured.",
            "- Operations, executes and CPU time that retention has forgotten stay counted, by the UTC hour: all of an hour belongs to the window that holds the hour's begin. Windows that begin and end on the hour are exact for ever."
          ].join("\n")
        })
      ),
    HttpApiEndpoint.get("readBalance", "/usage/balance", {
      success: Schema.Struct({ balance: Balance }).annotate({
        identifier: "BalanceResponse",
        description: "Credit, what is left of it, and how long it lasts at the present burn."
      })
    })
      .annotate(RequiredScope, "usage:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readBalance",
          summary: "The account's credit",
          description:
            "Money is whole micro-dollars (1,000,000 are 1 USD). Grants are spent promotional before others, then by earliest expiry, then by age; a top-up counts immediately."
        })
      ),
    HttpApiEndpoint.get("listTransactions", "/usage/transactions", {
      query: page,
      success: Schema.Struct({
        transactions: Schema.Array(WalletTransaction).annotate({ description: "One page." }),
        nextCursor: NextCursor
      }).annotate({ identifier: "WalletTransactionList", description: "Newest first." }),
      error: InvalidRequest
    })
      .annotate(RequiredScope, "usage:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "listTransactions",
          summary: "What came into the account's wallet and what left it",
          description:
            "Append-only: a mistake is reversed, never edited. Usage is posted when a Sandbox starts to run, stops or is deleted, when a snapshot or an image is ready or deleted, and at each UTC midnight; what costs less than a micro-dollar leaves no separate transaction. Pages are stable while transactions are added."
        })
      ),
    HttpApiEndpoint.get("readCosts", "/usage/costs", {
      query: {
        ...window,
        groupBy: Schema.Literals(costGroupings)
          .annotate({ default: "sandbox", description: "What each cost is of." })
          .pipe(Schema.withDecodingDefaultKey(Effect.succeed("sandbox" as const))),
        sandboxId: Schema.optionalKey(SandboxId)
      },
      success: Schema.Struct({
        costs: Schema.Array(Cost).annotate({ description: "The most expensive first; days in their order." }),
        totalMicroUsd: microUsd("The sum of all costs."),
        burnMicroUsdPerHour: microUsd("The present cost of an hour; it does not depend on the window."),
        asOf
      }).annotate({
        identifier: "CostReport",
        description: "What a window of time cost, as posted to the wallet, in pieces."
      }),
      error: InvalidRequest
    })
      .annotate(RequiredScope, "usage:read")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "readCosts",
          summary: "What the account's Sandboxes, their snapshots and its images cost",
          description: `${windowNote} Every grouping has the same total, posted or not. With \`sandboxId\`, all of it is of that Sandbox and its snapshots; one that is not the account's has cost nothing. More than ${costGroupsMax} costs in an answer: 400.`
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(OpenApi.annotations({ title: "Usage", description: "Usage, costs and credit." })) {}
