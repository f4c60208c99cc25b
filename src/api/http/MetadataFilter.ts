/** `metadata.KEY=VALUE` of a query: any number of keys, each once. */
import { Effect } from "effect"
import type { InvalidRequest, Issue } from "../../../schemas/Errors.ts"
import { metadataMaxPairs } from "../../../schemas/Limits.ts"
import { invalidRequest } from "./ErrorResponse.ts"

const prefix = "metadata."

const problemOf = (key: string, value: string | ReadonlyArray<string>): string | null => {
  if (typeof value !== "string") return "Given more than once"
  if (key === prefix) return "Expected a metadata key after the dot"
  return [key, value].some((text) => text.includes("\0") || !text.isWellFormed())
    ? "Expected text without NUL and without lone surrogates"
    : null
}

export const metadataFilter = (
  parameters: Readonly<Record<string, string | ReadonlyArray<string>>>
): Effect.Effect<Readonly<Record<string, string>>, InvalidRequest> => {
  const given = Object.entries(parameters).filter(([key]) => key.startsWith(prefix))
  const issues: Array<Issue> = []
  for (const [key, value] of given) {
    const message = problemOf(key, value)
    if (message !== null) issues.push({ path: [key], message })
  }
  if (given.length > metadataMaxPairs) {
    issues.push({ path: ["metadata"], message: `Expected at most ${metadataMaxPairs} pairs` })
  }
  return issues.length > 0
    ? Effect.fail(invalidRequest(issues))
    : Effect.succeed(Object.fromEntries(given.map(([key, value]) => [key.slice(prefix.length), value as string])))
}
