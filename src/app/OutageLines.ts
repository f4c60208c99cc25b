/** An outage of the database is two log lines, however many parts of the process it affects: `DatabaseWatch` writes them, and lines that only repeat it are left out. */
import { Cause, Context, Logger } from "effect"
import { isOfCluster } from "../engine/clusterLines.ts"
import { Outage } from "../store/DatabaseOutage.ts"

/** What a line was given beside its text: a cause, or an error. */
const causeOf = (part: unknown): ReadonlyArray<Cause.Cause<unknown>> => {
  if (Cause.isCause(part)) return [part]
  return part instanceof Error ? [Cause.fail(part)] : []
}

/** @param logger Gets all other lines. */
export const withoutOutages = (logger: Logger.Logger<unknown, void>): Logger.Logger<unknown, void> =>
  Logger.make((line) => {
    const outage = Context.get(line.fiber.context, Outage)
    const inMessage = [line.message].flat().flatMap(causeOf)
    const causes = [line.cause, ...inMessage].filter(({ reasons }) => reasons.length > 0)
    if (causes.length > 0 && causes.every((cause) => outage.explains(cause))) return
    // It logs without a cause of the database that a statement of the leases took too long.
    if (outage.lasts && isOfCluster(line)) return
    logger.log(line)
  })
