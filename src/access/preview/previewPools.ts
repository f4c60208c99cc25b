/** Open connections to the programs of previews, one pool a preview. */
import { Effect } from "effect"
import { worker } from "../../platform/worker/Worker.ts"
import { LiveConnections, type Release } from "../gateway/LiveConnections.ts"
import { mayGoOn } from "./ForwardOptions.ts"
import { PreviewPool } from "./PreviewPool.ts"
import type { PreviewTarget } from "./Previews.ts"
import type { Dial } from "./Upstream.ts"

const poolIdleMs = 30_000

/** Gives the pool of a preview. One that is idle ends; all end with the scope. */
export const previewPools = Effect.fnUntraced(function* (dialOf: (target: PreviewTarget) => Dial) {
  const connections = yield* LiveConnections
  const pools = new Map<string, { readonly pool: PreviewPool; readonly release: Release }>()

  const end = (actorId: string) => {
    const found = pools.get(actorId)
    pools.delete(actorId)
    found?.release()
    found?.pool.destroy()
  }

  /** The pool is itself a connection of its preview, so it is cut with it. Null: there is no room for one. */
  const of = (target: PreviewTarget): PreviewPool | null => {
    const { actorId } = target
    const known = pools.get(actorId)
    if (known !== undefined) return known.pool
    const pool = new PreviewPool(dialOf(target))
    const release = connections.open({ ...target, cut: () => end(actorId), mayGoOn })
    if (release === null) return null
    pools.set(actorId, { pool, release })
    return pool
  }

  yield* worker(
    "preview pools",
    Effect.forever(
      Effect.andThen(
        Effect.sleep(poolIdleMs),
        Effect.sync(() => {
          for (const [actorId, { pool }] of pools) {
            if (pool.isIdle && Date.now() - pool.lastUsedAt > poolIdleMs) end(actorId)
          }
        })
      )
    )
  )
  yield* Effect.addFinalizer(() => Effect.sync(() => [...pools.keys()].forEach(end)))
  return of
})
