/**
 * Finds PID 1 of a Sandbox once bubblewrap has built its root, some 50 ms before the agent in it answers.
 *
 * Until then the mount namespace of PID 1 has the host's mounts, and a remount there would change the host's. So PID 1 must have another root than the
 * service, and a child: bubblewrap forks for the agent after all mounts.
 *
 * @source bubblewrap.c main()
 */
import { statSync } from "node:fs"
import { setTimeout as sleep } from "node:timers/promises"
import { childrenOf, identify, type ProcessIdentity } from "../linux/ProcessIdentity.ts"
import type { SandboxState } from "./SandboxState.ts"

const POLL_MS = 2

/** What is known about the agent. Once it has answered, its root was built. */
export type AgentStart = "awaited" | "answered" | "failed"

const isBuilt = (pid: number): boolean => {
  try {
    const [own, its] = [statSync("/"), statSync(`/proc/${pid}/root/`)]
    return (own.dev !== its.dev || own.ino !== its.ino) && childrenOf(pid).length > 0
  } catch {
    // It has ended.
    return false
  }
}

export const builtRoot = async (state: SandboxState, agent: () => AgentStart): Promise<ProcessIdentity> => {
  while (true) {
    const now = agent()
    const { childPid } = state.readStatus()
    const isThere = childPid !== null && (now === "answered" || isBuilt(childPid))
    const init = isThere ? identify(childPid) : null
    if (init !== null) return init
    if (now !== "awaited") throw new Error("the Sandbox ended during its boot")
    await sleep(POLL_MS)
  }
}
