/** Which boots failed on which host: several in a row, of different Sandboxes, are the host's fault. */
import { Context, Effect, Layer, Queue } from "effect"

/** So many Sandboxes in a row. */
export const bootsFailMax = 3

export type BootVerdict =
  | { readonly type: "fail"; readonly hostId: string; readonly message: string }
  | { readonly type: "work"; readonly hostId: string }

interface Row {
  /** Sandboxes that did not boot since one did. */
  readonly failed: Set<string>
  /** It was said that none boots there. */
  isDoubtful: boolean
}

export class HostBoots extends Context.Service<
  HostBoots,
  {
    readonly worked: (hostId: string) => void
    /** @param message Of the driver: why. */
    readonly failed: (hostId: string, sandboxId: string, message: string) => void
    /** Each row of failures, and the first boot that worked after one. */
    readonly verdicts: Queue.Dequeue<BootVerdict>
  }
>()("atoll/fleet/HostBoots") {
  static readonly layer = Layer.effect(
    HostBoots,
    Effect.gen(function* () {
      const verdicts = yield* Queue.unbounded<BootVerdict>()
      const rows = new Map<string, Row>()
      const rowOf = (hostId: string) => {
        const row = rows.get(hostId) ?? { failed: new Set(), isDoubtful: false }
        rows.set(hostId, row)
        return row
      }
      return HostBoots.of({
        worked: (hostId) => {
          if (rows.get(hostId)?.isDoubtful === true) Queue.offerUnsafe(verdicts, { type: "work", hostId })
          rows.delete(hostId)
        },
        failed: (hostId, sandboxId, message) => {
          const row = rowOf(hostId)
          row.failed.add(sandboxId)
          if (row.failed.size < bootsFailMax) return
          row.failed.clear()
          row.isDoubtful = true
          Queue.offerUnsafe(verdicts, { type: "fail", hostId, message })
        },
        verdicts
      })
    })
  )
}
