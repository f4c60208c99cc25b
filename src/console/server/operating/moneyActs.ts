/** What the operator does with credit and rates: for the command line and for the operator's page, in the same words. */
import { Effect } from "effect"
import { awaitLeases } from "../../../account/KeyLease.ts"
import { noteInstallation, noteOperator } from "../../../account/OperatorAudit.ts"
import type { GrantKind } from "../../../wallet/Grant.ts"
import { Ledger } from "../../../wallet/Ledger.ts"
import { formatUsd } from "../../../wallet/Money.ts"
import { rateMaxNanoUsd } from "../../../wallet/RateCard.ts"
import { knownAccount } from "./accountActs.ts"
import { balanceDocument, grantDocument } from "./balanceDocument.ts"
import type { Done } from "./Done.ts"
import { shownTime } from "./times.ts"
import { together } from "./together.ts"
import { future, whole } from "./values.ts"

const described: Record<GrantKind, string> = {
  promotional: "Promotional credit",
  purchase: "Credit",
  adjustment: "Adjustment"
}

interface NewCredit {
  readonly account: string
  readonly microUsd: bigint
  readonly kind: GrantKind
  /** Epoch milliseconds; null: never. */
  readonly expiresAt: number | null
  /** Null: the kind's own words. */
  readonly description: string | null
}

export const grantCredit = Effect.fn("operating.grantCredit")(function* (asked: NewCredit) {
  const { microUsd, kind, expiresAt } = asked
  const account = yield* knownAccount(asked.account)
  const ledger = yield* Ledger
  const note = { accountId: account.id, action: "grantCredit", targetType: "grant" } as const
  const made = yield* ledger
    .grant({ accountId: account.id, kind, microUsd, expiresAt, description: asked.description ?? described[kind] })
    .pipe(
      Effect.tap(({ id }) => noteOperator({ ...note, targetId: id, status: 201, errorCode: null })),
      together,
      Effect.tapError(() => noteOperator({ ...note, targetId: null, status: 400, errorCode: "INVALID_REQUEST" }))
    )
  // After this, no process uses an older read of the account.
  yield* awaitLeases
  const balance = yield* ledger.balance(account.id)
  const done: Done = {
    said: [
      `${made.id}: ${formatUsd(made.grantedMicroUsd)} USD (${made.kind}), ${expiresAt === null ? "which never expires" : `until ${shownTime(expiresAt)}`}.`,
      account.billing === "unlimited"
        ? `${account.name} is unlimited: no request is refused for lack of credit.`
        : `${account.name} has ${formatUsd(balance.balanceMicroUsd)} USD.`
    ].join(" "),
    link: null,
    secret: null,
    document: { grant: grantDocument(made), balance: balanceDocument(balance) }
  }
  return done
})

/** As they are written on the command line. */
interface NewRates {
  readonly vcpuSecond: string
  readonly memoryGibSecond: string
  readonly volumeGibSecond: string
  /** Null: as a volume's. */
  readonly snapshotGibSecond: string | null
  /** Null: now. */
  readonly effectiveAt: string | null
}

export const setRates = Effect.fn("operating.setRates")(function* (asked: NewRates) {
  const volume = yield* whole("--volume-gib-second", asked.volumeGibSecond, rateMaxNanoUsd)
  const snapshot = asked.snapshotGibSecond
  const rates = {
    vcpuSecondNanoUsd: yield* whole("--vcpu-second", asked.vcpuSecond, rateMaxNanoUsd),
    memoryGibSecondNanoUsd: yield* whole("--memory-gib-second", asked.memoryGibSecond, rateMaxNanoUsd),
    volumeGibSecondNanoUsd: volume,
    snapshotGibSecondNanoUsd:
      snapshot === null ? volume : yield* whole("--snapshot-gib-second", snapshot, rateMaxNanoUsd)
  }
  const { effectiveAt } = asked
  const from = effectiveAt === null ? {} : { effectiveAt: yield* future("--effective-at", effectiveAt) }
  const ledger = yield* Ledger
  return yield* together(Effect.tap(ledger.setRates({ ...rates, ...from }), noteInstallation("setRates", null, 201)))
})
