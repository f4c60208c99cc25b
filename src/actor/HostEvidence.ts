/**
 * Whether this process reaches the hosts on which Sandboxes live, as far as it knows. Of services that do not reach each other the hosts know which one
 * lacks the right secret or certificate: that one reaches none.
 */
import { Context } from "effect"

const ofProcess = { reachesHosts: true }

export const HostEvidence = Context.Reference<{ reachesHosts: boolean }>("atoll/actor/HostEvidence", {
  defaultValue: () => ofProcess
})
