/** A worker that compares a host with the stored actors, at the start and then in intervals. */
import { Effect } from "effect"
import { Settings } from "../Config.ts"
import { worker } from "../platform/worker/Worker.ts"

/** @param sides Completes "Could not compare …". A pass that fails is logged, and the next one comes at its time. */
export const imageReconciler = Effect.fnUntraced(function* <E, R>(
  name: string,
  sides: string,
  pass: Effect.Effect<void, E, R>
) {
  const { reconcileIntervalMs } = yield* Settings
  const safe = pass.pipe(Effect.catchCause((cause) => Effect.logWarning(`Could not compare ${sides}`, cause)))
  yield* worker(name, safe.pipe(Effect.andThen(Effect.sleep(reconcileIntervalMs)), Effect.forever))
})
