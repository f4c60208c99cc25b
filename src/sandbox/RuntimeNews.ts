/** What is heard of machines, told to their Sandboxes. A Sandbox that this is no news for, or that there is not, is not told. */
import { Effect } from "effect"
import type { AnyEvent } from "../actor/ActorDefinition.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import type { RuntimeStall } from "../runtime/Runtime.ts"

const cause = "runtime"

export const runtimeNews = Effect.map(ActorHost, (host) => {
  const tell = (sandboxId: string, event: AnyEvent) =>
    host.send("sandbox", sandboxId, event, { cause }).pipe(
      Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
      Effect.asVoid
    )
  return {
    /** @param seenAt Epoch milliseconds: it was alive then; null: nobody knows. */
    down: (
      sandboxId: string,
      generation: number,
      reason: { readonly code: string; readonly message: string },
      seenAt: number | null
    ) => tell(sandboxId, { type: "RUNTIME_DOWN", generation, reason, ...(seenAt === null ? {} : { seenAt }) }),
    /** It runs, and perhaps nobody wants it to. */
    found: (sandboxId: string) => tell(sandboxId, { type: "RUNTIME_FOUND" }),
    /**
     * A former owner's freezing came about after the Sandbox had been woken: it sleeps, so let it say so. Whoever uses it then, or does
     * already, wakes it.
     */
    asleep: (sandboxId: string) =>
      Effect.logWarning(`${sandboxId} runs, and was found frozen: it sleeps`).pipe(
        Effect.andThen(tell(sandboxId, { type: "SLEEP" }))
      ),
    stall: (stall: RuntimeStall) =>
      tell(
        stall.sandboxId,
        stall.type === "stalled"
          ? { type: "RUNTIME_STALLED", generation: stall.generation, reason: stall.reason }
          : { type: "RUNTIME_RESUMED", generation: stall.generation }
      )
  }
})

export type RuntimeNews = Effect.Success<typeof runtimeNews>
