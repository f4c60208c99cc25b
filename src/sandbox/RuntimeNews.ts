/**
 * Reports events of machines to their Sandboxes. A report that changes nothing, or is about an unknown Sandbox, is dropped. The check uses the
 * Sandbox's state at the revision that the reporter has read, or a later one.
 */

import { Effect } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import type { PublicReason } from "../../schemas/PublicText.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import type { RuntimeStall } from "../runtime/Runtime.ts"

const cause = "runtime"

export const runtimeNews = Effect.map(ActorHost, (host) => {
  const tell = (sandboxId: string, event: EventOf<typeof sandboxMachine>, revision: number) =>
    host.send(sandboxMachine, sandboxId, event, { cause, revision }).pipe(
      Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
      Effect.asVoid
    )
  return {
    /**
     * @param seenAt Epoch milliseconds at which it was last known alive; null: unknown.
     * @param revision The revision that the reporter has read; 0: none. The report is compared with that revision or a later one.
     */
    down: (sandboxId: string, generation: number, reason: PublicReason, seenAt: number | null, revision = 0) =>
      tell(sandboxId, { type: "RUNTIME_DOWN", generation, reason, ...(seenAt === null ? {} : { seenAt }) }, revision),
    /** Its machine runs, perhaps although it should not. */
    found: (sandboxId: string, revision: number) => tell(sandboxId, { type: "RUNTIME_FOUND" }, revision),
    /**
     * The previous owner froze the machine after the Sandbox had been woken. The machine sleeps, so the Sandbox goes to sleep as well; a present or
     * later use wakes it.
     */
    asleep: (sandboxId: string, revision: number) =>
      Effect.logWarning(`${sandboxId} runs, and was found frozen: it sleeps`).pipe(
        Effect.andThen(tell(sandboxId, { type: "SLEEP" }, revision))
      ),
    stall: (stall: RuntimeStall) =>
      tell(
        stall.sandboxId,
        stall.type === "stalled"
          ? { type: "RUNTIME_STALLED", generation: stall.generation, reason: stall.reason }
          : { type: "RUNTIME_RESUMED", generation: stall.generation },
        0
      )
  }
})

export type RuntimeNews = Effect.Success<typeof runtimeNews>
