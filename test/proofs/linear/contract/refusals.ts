/** Calls that are refused: nothing was done. */
import type { Answer, AnswerOf } from "../calls.ts"
import { type Next, type State, when } from "./State.ts"

/** How long calls wait before they answer with an earlier status. */
export const answersWithinMs = { start: 20_000, stop: 20_000, delete: 10_000 }
/** Clocks of client and service begin to count at different moments. */
export const slackMs = 500

/** Refusals that say "nothing was done" and nothing about the Sandbox: an outage, a limit on requests, a Sandbox that was not reached. */
export const isOutage = ({ code, status }: AnswerOf<"refused">): boolean =>
  code === "SERVICE_UNAVAILABLE" || code === "RATE_LIMITED" || (code === "SANDBOX_UNAVAILABLE" && status === null)

/** Refusals that every call may have: there is no such Sandbox any more, or its status does not allow the call. */
export const refused = (state: State, answer: Answer, statuses: ReadonlyArray<string>): Next => {
  if (answer.is !== "refused") return []
  if (answer.code === "NOT_FOUND") return when(state.status === "deleted", state)
  const isOfStatus = answer.code === "SANDBOX_UNAVAILABLE" && answer.status === state.status
  return when(isOfStatus && statuses.includes(answer.status!), state)
}

/** Statuses in which commands, files and previews are refused; one that boots is waited for first. */
export const withoutRuntime = ({ ms }: Answer): ReadonlyArray<string> => [
  "stopping",
  "restoring",
  "stopped",
  "failed",
  "deleting",
  "deleted",
  ...(ms > answersWithinMs.start - slackMs ? ["pending"] : [])
]
