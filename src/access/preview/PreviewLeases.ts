/** Looks up the targets of host names, and serves from its last read of each for a short lease. */
import { Clock, Effect } from "effect"
import { lastsAt } from "../../../machines/expiry.ts"
import type { PreviewContext } from "../../../schemas/contexts/Preview.ts"
import type { PreviewTarget } from "./Previews.ts"

/** How long another process may serve from its last read: account/KeyLease.ts has the same idea. */
export const leaseMs = 100
const leasesMax = 10_000

interface Ingress {
  readonly find: (
    actorId: string
  ) => Effect.Effect<{ readonly status: string; readonly context: PreviewContext } | null>
  readonly isUsable: (status: string, context: PreviewContext) => Effect.Effect<boolean>
}

export class PreviewLeases {
  readonly #leases = new Map<string, { readonly target: PreviewTarget; readonly until: number }>()
  /** When each preview closed in this process: a read that began earlier is outdated. */
  readonly #deaths = new Map<string, number>()

  readonly forget = (actorId: string): void => {
    this.#leases.delete(actorId)
    if (this.#deaths.size >= leasesMax) this.#deaths.clear()
    this.#deaths.set(actorId, performance.now())
  }

  readonly #lookUp = Effect.fnUntraced({ self: this }, function* (actorId: string, ingress: Ingress) {
    const began = performance.now()
    const record = yield* ingress.find(actorId)
    if (record === null || !(yield* ingress.isUsable(record.status, record.context))) return null
    const { accountId, sandboxId, generation, port, expiresAt } = record.context
    const target: PreviewTarget = { actorId, accountId, sandboxId, generation, port, expiresAt }
    if (this.#leases.size >= leasesMax) this.#leases.clear()
    if ((this.#deaths.get(actorId) ?? 0) >= began) return null
    this.#leases.set(actorId, { target, until: began + leaseMs })
    return target
  })

  /** Of a valid lease, without a wait; null: `find` knows. */
  leased(actorId: string, nowMs: number): PreviewTarget | null {
    const lease = this.#leases.get(actorId)
    return lease !== undefined && performance.now() < lease.until && lastsAt(lease.target, nowMs) ? lease.target : null
  }

  /** Null: the preview admits no connections now. */
  readonly find = Effect.fnUntraced({ self: this }, function* (actorId: string, ingress: Ingress) {
    const lease = this.#leases.get(actorId)
    const found =
      lease !== undefined && performance.now() < lease.until ? lease.target : yield* this.#lookUp(actorId, ingress)
    return found !== null && lastsAt(found, yield* Clock.currentTimeMillis) ? found : null
  })
}
