import type { Section } from "../Rule.ts"

export const money: Section = {
  title: "Usage and credit",
  rules: [
    {
      rule: "Without credit, create, start, execute, operations and file writes are 402 `CREDIT_EXHAUSTED`.",
      decidedBy: "src/account/Credit.ts#requireCredit",
      heldBy:
        "http/credit.test.ts#that is used up refuses every call that costs with 402, in every process; restored credit refuses none",
      question: "Where is 402 decided?"
    },
    {
      rule: "Stop, delete, cancel, every read and file deletion are never refused for credit.",
      decidedBy: "src/account/Credit.ts#requireCredit",
      heldBy:
        "http/credit.test.ts#is never needed to read, stop, cancel, close, remove or delete, nor for calls that cost nothing"
    },
    {
      rule: "Credit ends at the planned instant, without anything polling.",
      decidedBy: "src/wallet/Plan.ts#foresee",
      heldBy:
        "http/credit.test.ts#that ends at a planned instant refuses from that instant on and not before, with nothing written"
    },
    {
      rule: "After the grace time, running Sandboxes of an exhausted account stop; their volumes are kept.",
      decidedBy: "machines/wallet.ts#stopExhausted",
      heldBy:
        "wallet/wallet.test.ts#lets Sandboxes run for the grace time, counted from the instant itself; a top-up in it cancels the stop"
    },
    {
      rule: "A top-up takes effect with its commit.",
      decidedBy: "src/wallet/Ledger.ts#Ledger",
      heldBy: "http/prepaid.test.ts#has no credit before a grant, and has it in the next request after one"
    },
    {
      rule: "Amounts are whole micro-dollars, rounded down once, as the growth of an exact sum.",
      decidedBy: "src/wallet/Cost.ts#costBetween",
      heldBy: "wallet/inMemory.test.ts#in memory"
    },
    {
      rule: "vCPU and memory cost from the commit of `running` to the commit that leaves it; the volume from the first boot to its deletion.",
      decidedBy: "src/wallet/Fold.ts#fold",
      heldBy:
        "wallet/Ledger.test.ts#bills a run, not the boot before it, and plans to the millisecond when the credit ends"
    },
    {
      rule: "An end that was noticed late costs until the last moment at which the runtime was seen alive.",
      decidedBy: "src/wallet/Fold.ts#takeBackTo",
      heldBy:
        "wallet/Ledger.test.ts#reverses what was posted after the last moment at which a dead runtime was seen alive",
      question: "How is a death that was noticed late billed?"
    },
    {
      rule: "The last moment alive is where the runtime was last heard.",
      decidedBy: "src/sandbox/Heartbeat.ts#Heartbeat.layer.seenAt",
      heldBy: "sandbox/lateEnds.test.ts#is the last heartbeat when the service was down meanwhile"
    },
    {
      rule: "A rate card holds from an instant on; a run that crosses it is cut there.",
      decidedBy: "src/wallet/RateCard.ts#cardAt",
      heldBy: "wallet/RateCard.test.ts#each apply from their instant to the next one's"
    },
    {
      rule: "Promotional grants are spent first, then by expiry, then by age.",
      decidedBy: "src/wallet/Allocation.ts#spendingOrder",
      heldBy: "wallet/inMemory.test.ts#in memory"
    },
    {
      rule: "Expired credit cannot be spent.",
      decidedBy: "src/wallet/Posting.ts#dueOf",
      heldBy:
        "wallet/Ledger.test.ts#does not let expired credit be spent, even if no posting noticed the expiry in time"
    },
    {
      rule: "`low` is less than a day of burn or 10 % of the granted sum.",
      decidedBy: "src/wallet/Plan.ts#lowBelow",
      heldBy: "wallet/Plan.test.ts#is low below a tenth of the granted sum, to the micro-USD, and not at it"
    },
    {
      rule: "Registration by invitation gives 10 USD of promotional credit for 14 days.",
      decidedBy: "src/console/server/Registration.ts#promotionMs",
      heldBy:
        "console/server/registration.test.ts#makes a prepaid account with credit for 14 days, signs in, and the session is good for the API"
    },
    {
      rule: "The wallet's transactions are append-only and newest first.",
      decidedBy: "src/wallet/Transactions.ts#Transactions",
      heldBy: "http/usage.test.ts#keeps pages of transactions as they are while others are added"
    },
    {
      rule: "Costs add up to the whole by Sandbox, day and workspace.",
      decidedBy: "src/wallet/Costs.ts#Costs",
      heldBy: "wallet/reports.test.ts#in reports"
    },
    {
      rule: "A snapshot costs what it stores, at the rate of snapshots, until it is deleted; the cost counts for its Sandbox, even if that is deleted.",
      decidedBy: "src/wallet/Fold.ts#fold",
      heldBy:
        "snapshot/snapshotCosts.test.ts#costs what it stores at its own rate from ready to deleted, also after its Sandbox was deleted"
    },
    {
      rule: "Without credit snapshots stay and cost on, and no further one can be taken.",
      decidedBy: "src/snapshot/snapshotQuota.ts#snapshotQuota",
      heldBy:
        "snapshot/snapshotCosts.test.ts#stays and costs on when credit is exhausted, as a volume does; no further one can be taken"
    },
    {
      rule: "Usage and costs need the scope `usage:read`.",
      decidedBy: "schemas/Usage.ts#UsageGroup",
      heldBy: "http/usage.test.ts#needs the scope usage:read and no other; without a key it is 401"
    },
    {
      rule: "The default window of usage is the current UTC month.",
      decidedBy: "src/wallet/ReportWindow.ts#monthAt",
      heldBy: "wallet/reports.test.ts#is the current UTC month, up to now"
    },
    {
      rule: "`cpuSeconds` is measured, and null where it was not.",
      decidedBy: "src/wallet/UsageReports.ts#UsageReports",
      heldBy:
        "wallet/usage.test.ts#has the CPU time as the growth of each boot's counter, where it was measured, in any window"
    },
    {
      rule: "`usage verify` folds the log and compares it with the ledger.",
      decidedBy: "src/wallet/verify/verifyUsage.ts#verifyUsage",
      heldBy: "wallet/verify.test.ts#finds …"
    },
    {
      rule: "The audit log has every call that changes something or reads content, refused ones too.",
      decidedBy: "src/api/http/AuditedEndpoint.ts#isAudited",
      heldBy: "http/audited.test.ts#…: …"
    },
    {
      rule: "The audit log has no body, query or secret.",
      decidedBy: "src/api/http/AuditedEndpoint.ts#auditedEndpoint",
      heldBy: "http/audited.test.ts#holds no secret, wherever a caller puts one"
    }
  ]
}
