/** The time range of a report: by default the current UTC month. Epoch milliseconds; `from` inclusive, `to` exclusive. */
import { Effect } from "effect"
import { InvalidRequest } from "../../schemas/Errors.ts"
import { reportWindowMaxDays } from "../../schemas/Limits.ts"
import { dayMs } from "./Fold.ts"

export interface ReportWindow {
  readonly from: number
  readonly to: number
}

const monthAt = (at: number, later: number): number => {
  const date = new Date(at)
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + later, 1)
}

const invalid = (path: string, message: string) =>
  Effect.fail(new InvalidRequest({ details: { issues: [{ path: [path], message }] } }))

/** `to` defaults to the end of the current UTC month, `from` to the start of the UTC month that ends at `to` or contains it. */
export const reportWindow = (
  asked: { readonly from: number | null; readonly to: number | null },
  now: number
): Effect.Effect<ReportWindow, InvalidRequest> => {
  const to = asked.to ?? monthAt(now, 1)
  const from = asked.from ?? monthAt(to - 1, 0)
  if (from >= to) return invalid("from", "Expected an instant before `to`")
  if (to - from > reportWindowMaxDays * dayMs) {
    return invalid("from", `The window is longer than ${reportWindowMaxDays} days: ask for parts of it, they add up`)
  }
  return Effect.succeed({ from, to })
}
