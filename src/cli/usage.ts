/** `atoll usage verify` */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { Refused } from "../console/server/operating/refusals.ts"
import { faultOf, verifyBooks } from "../console/server/operating/usageActs.ts"
import type { Verification } from "../wallet/verify/verifyUsage.ts"
import { answer } from "./answer.ts"
import { table } from "./table.ts"

const proseOf = (found: Verification, summary: string): string => {
  const { differences, differencesCount } = found
  if (differencesCount === 0) return summary
  const more = differencesCount - differences.length
  return [
    summary,
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
    const { found, summary } = yield* verifyBooks(Option.getOrNull(nameOrId))
    // Sums of all accounts may exceed the exact range of JSON numbers.
    yield* answer(proseOf(found, summary), { ...found, costMicroUsd: String(found.costMicroUsd) })
    const fault = faultOf(found)
    if (fault !== null) yield* new Refused({ message: fault })
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
