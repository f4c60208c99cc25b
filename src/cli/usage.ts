/** `atoll usage verify` */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { knownAccount } from "../console/server/operating/accountActs.ts"
import { Refused } from "../console/server/operating/refusals.ts"
import { MaintenanceDatabase } from "../store/Database.ts"
import { formatUsd } from "../wallet/Money.ts"
import { type Verification, verifyUsage } from "../wallet/verify/verifyUsage.ts"
import { answer } from "./answer.ts"
import { table } from "./table.ts"

const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`

const summaryOf = (found: Verification): string =>
  [
    `${counted(found.transitions, "transition")} of ${counted(found.sandboxes, "Sandbox", "Sandboxes")}`,
    ...(found.prunedSandboxes > 0
      ? [`(the logs of ${found.prunedSandboxes} were deleted by retention: only their books were checked)`]
      : []),
    `cost ${formatUsd(found.costMicroUsd)} USD.`,
    `${counted(found.accounts, "account")}, ${counted(found.grants, "grant")}, ${counted(found.entries, "entry", "entries")}.`,
    ...(found.unpostedSandboxes > 0
      ? [`${counted(found.unpostedSandboxes, "Sandbox", "Sandboxes")} with usage that is about to be posted.`]
      : [])
  ].join(" ")

const proseOf = (found: Verification): string => {
  const { differences, differencesCount } = found
  if (differencesCount === 0) return `${summaryOf(found)} Everything agrees.`
  const more = differencesCount - differences.length
  return [
    summaryOf(found),
    table(
      ["DIFFERENCE", "ACCOUNT", "OF", "EXPECTED", "FOUND"],
      differences.map(({ what, accountId, id, expected, found }) => [
        what,
        accountId ?? "-",
        id ?? "-",
        expected,
        found
      ])
    ),
    ...(more > 0 ? [`and ${more} more`] : [])
  ].join("\n")
}

const verify = Command.make(
  "verify",
  { account: Flag.String("account").pipe(Flag.withDescription("Only this account: its name or id"), Flag.optional) },
  Effect.fnUntraced(function* ({ account: nameOrId }) {
    const account = Option.isNone(nameOrId) ? null : yield* knownAccount(nameOrId.value)
    const found = yield* verifyUsage(yield* MaintenanceDatabase, account?.id ?? null)
    // Sums of all accounts may exceed the exact range of JSON numbers.
    yield* answer(proseOf(found), { ...found, costMicroUsd: String(found.costMicroUsd) })
    if (found.differencesCount > 0) {
      const places = counted(found.differencesCount, "place")
      yield* new Refused({ message: `The books differ from the log, in ${places}.` })
    }
  })
).pipe(
  Command.withDescription(
    "Recompute all costs and payments from the whole log, and compare them with the books. Changes nothing, and may run beside the service"
  )
)

export const usage = Command.make("usage").pipe(
  Command.withDescription("Check what was charged"),
  Command.withSubcommands([verify])
)
