/** Whether the agent of a Sandbox answers. */
import type { Effect } from "effect"
import { agentHealth } from "../../runtime/agentClient/AgentGuest.ts"
import type { AgentSession } from "../../runtime/agentClient/AgentSession.ts"

/** A host that boots many Sandboxes concurrently is slow. */
const HEALTH_TIMEOUT_MS = 40_000

/** Resolves with the agent's pid inside the Sandbox. */
export const agentAnswers = async (
  run: <A, E>(effect: Effect.Effect<A, E>) => Promise<A>,
  session: AgentSession,
  generation: number,
  timeoutMs = HEALTH_TIMEOUT_MS
): Promise<number> => {
  const health = await run(agentHealth(session, timeoutMs))
  if (health.generation !== generation) throw new Error(`generation ${health.generation} answers, not ${generation}`)
  return health.pid
}
