/**
 * Whether this process reaches the hosts of Sandboxes, as far as it knows. Of two services that do not reach each other, the one with a wrong
 * secret or certificate reaches no host.
 */
import { Context } from "effect"

const ofProcess = { reachesHosts: true }

export const HostEvidence = Context.Reference<{ reachesHosts: boolean }>("atoll/engine/HostEvidence", {
  defaultValue: () => ofProcess
})
