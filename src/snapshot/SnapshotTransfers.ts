/**
 * Exports and imports that are in progress: bounded for each account over all services, and for this service, because each takes memory, a processor
 * and the disk of a host for as long as its client likes.
 */
import { Context, Effect, Layer } from "effect"
import { RateLimited, ServiceUnavailable } from "../../schemas/Errors.ts"
import { snapshotTransfersPerAccount } from "../../schemas/Limits.ts"
import { ClusterSemaphore } from "../store/ClusterSemaphore.ts"

const perService = 16
const askAgainSeconds = 5

const ofAccount = () =>
  new RateLimited({
    message: `The account exports and imports ${snapshotTransfersPerAccount} snapshots already. Let one end, then try again.`,
    details: { retryAfterSeconds: askAgainSeconds }
  })

const ofService = () =>
  new ServiceUnavailable({ message: "The service exports and imports as many snapshots as it can. Try again later." })

export class SnapshotTransfers extends Context.Service<
  SnapshotTransfers,
  {
    /** Takes a permit. The returned function releases it; further calls do nothing. */
    readonly enter: (accountId: string) => Effect.Effect<() => void, RateLimited | ServiceUnavailable>
  }
>()("atoll/snapshot/SnapshotTransfers") {
  static readonly layer = Layer.effect(
    SnapshotTransfers,
    Effect.gen(function* () {
      const semaphore = yield* ClusterSemaphore
      let open = 0
      return SnapshotTransfers.of({
        enter: Effect.fnUntraced(function* (accountId) {
          const release = yield* semaphore.enter([
            { subject: `snapshot transfers ${accountId}`, most: snapshotTransfersPerAccount }
          ])
          if (release === null) return yield* ofAccount()
          if (open >= perService) {
            release()
            return yield* ofService()
          }
          open++
          let isOver = false
          return () => {
            if (isOver) return
            isOver = true
            open--
            release()
          }
        })
      })
    })
  )
}
