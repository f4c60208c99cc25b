/** An outage of the database is two log lines, however many parts of the process it affects: `DatabaseWatch` writes them, and lines that only repeat it are left out. */
import { Cause, Context, Logger, References } from "effect"
import { Outage } from "../store/DatabaseOutage.ts"

/** Effect's cluster, which logs without a cause of the database that a statement of the leases took too long. */
const clusterModule = /^effect\/cluster\//
/** Its lines without a module. */
const clusterMessage = /^Shard lock storage /

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
    const module = line.fiber.getRef(References.CurrentLogAnnotations)["module"]
    const isOfCluster =
      typeof module === "string" ? clusterModule.test(module) : clusterMessage.test(String([line.message].flat()[0]))
    if (outage.lasts && isOfCluster) return
    logger.log(line)
  })
