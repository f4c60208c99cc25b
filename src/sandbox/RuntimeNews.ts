/**
 * What is heard of machines, told to their Sandboxes. A Sandbox that this is no news for, or that there is not, is not told: by its state at the
 * revision that whoever tells it has read, or a later one.
 */

import { Effect } from "effect"
import { sandboxMachine } from "../../machines/sandbox.ts"
import type { PublicReason } from "../../schemas/PublicText.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import type { EventOf } from "../actor/machineTypes.ts"
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
     * @param seenAt Epoch milliseconds: it was alive then; null: nobody knows.
     * @param revision Of whoever has read nothing: 0. What it tells is compared with what is stored later.
     */
    down: (sandboxId: string, generation: number, reason: PublicReason, seenAt: number | null, revision = 0) =>
      tell(sandboxId, { type: "RUNTIME_DOWN", generation, reason, ...(seenAt === null ? {} : { seenAt }) }, revision),
    /** It runs, and perhaps nobody wants it to. */
    found: (sandboxId: string, revision: number) => tell(sandboxId, { type: "RUNTIME_FOUND" }, revision),
    /**
     * A former owner's freezing came about after the Sandbox had been woken: it sleeps, so let it say so. Whoever uses it then, or does
     * already, wakes it.
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
