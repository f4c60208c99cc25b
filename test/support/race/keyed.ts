import { Effect } from "effect"
import type { Witness } from "./Witness.ts"

/** A refused key must belong to another request. */
export const keyed =
  (witness: Witness, key: string, body: string) =>
  <A, E extends { readonly _tag: string }, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.tapError(effect, ({ _tag }) =>
      Effect.sync(() => {
        if (_tag === "IDEMPOTENCY_CONFLICT") witness.conflict(key, body)
      })
    )
