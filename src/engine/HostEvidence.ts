/**
 * Whether this process reaches the hosts that its actors' commands work on, as far as it knows; others leave the default. Of two processes that do
 * not reach each other, the one with a wrong secret or certificate reaches no host.
 */
import { Context } from "effect"

const ofProcess = { reachesHosts: true }

export const HostEvidence = Context.Reference<{ reachesHosts: boolean }>("atoll/engine/HostEvidence", {
  defaultValue: () => ofProcess
})
