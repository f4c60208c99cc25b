/** Returns permits to the other processes of a cluster, once this one has not used them for a second. */
import { Effect, type Latch, type Semaphore } from "effect"
import { worker } from "../platform/worker/Worker.ts"
import type { HeldPermits } from "./HeldPermits.ts"
import type { PermitStatements } from "./permitStatements.ts"

/** Permits unused between two checks, and between the two before, are returned. */
const lookEveryMs = 500

/** @param some Open while there are permits to look after. @param writing Held during each statement. */
export const returnUnusedPermits = (
  held: HeldPermits,
  statements: PermitStatements,
  { some, writing }: { readonly some: Latch.Latch; readonly writing: Semaphore.Semaphore }
) => {
  const look = Effect.suspend(() => {
    if (!held.giveUpUnused()) return Effect.void
    const counts = held.unstored()
    return Effect.map(statements.store(counts), (processId) => held.noteStored(counts, processId))
  }).pipe(writing.withPermit)

  return worker(
    "held permits",
    some.await.pipe(
      Effect.andThen(Effect.sleep(lookEveryMs)),
      Effect.andThen(look),
      Effect.catchCause((cause) => Effect.logWarning("Could not return unused permits", cause)),
      Effect.forever
    )
  )
}
