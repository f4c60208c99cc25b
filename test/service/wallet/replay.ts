/**
 * Checks a property of scenarios; a failure prints how to replay it. The seed and the number of runs may come from
 * test/service/wallet/main.ts.
 */
import fc from "fast-check"
import { askedRuns } from "../../support/seededRuns.ts"
import { type Scenario, scenarios } from "./steps.ts"

const asked = askedRuns("ATOLL_MONEY")

/** A thousand in memory, and an equivalent number where one run takes longer. */
export const runs = (ordinary: number): number => Math.ceil(((asked.runs ?? 1000) * ordinary) / 1000)

const shown = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (typeof inner === "bigint" ? `${inner}n` : inner))

export const checkScenarios = async (
  title: string,
  numRuns: number,
  stepsMax: number,
  take: (scenario: Scenario) => Promise<void>
): Promise<void> => {
  const details = await fc.check(fc.asyncProperty(scenarios(stepsMax), take), {
    numRuns,
    interruptAfterTimeLimit: 3_000_000,
    ...asked.replay
  })
  if (!details.failed) return
  const { errorInstance } = details as { readonly errorInstance?: Error }
  const scenario = details.counterexample?.[0]
  throw new Error(
    [
      errorInstance?.stack ?? "interrupted",
      `again: npm run test:money -- --only "${title}" --seed=${details.seed} --path "${details.counterexamplePath}"`,
      shown({ ...scenario, steps: undefined }),
      ...(scenario?.steps ?? []).map((step) => `  ${shown(step)}`)
    ].join("\n")
  )
}
