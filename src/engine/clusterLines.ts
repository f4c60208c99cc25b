/** Which lines of the log are Effect's cluster's own. */
import { type Logger, References } from "effect"

const clusterModule = /^effect\/cluster\//
/** Its lines without a module. */
const clusterMessage = /^Shard lock storage /

export const isOfCluster = ({ fiber, message }: Logger.Options<unknown>): boolean => {
  const module = fiber.getRef(References.CurrentLogAnnotations)["module"]
  return typeof module === "string" ? clusterModule.test(module) : clusterMessage.test(String([message].flat()[0]))
}
