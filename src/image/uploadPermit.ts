/** Archives that one account sends at a time, over all services: a slow one must not occupy a host for others. */
import { Effect } from "effect"
import { ImageUploadsReached } from "../../schemas/ImageErrors.ts"
import { ClusterSemaphore } from "../store/ClusterSemaphore.ts"

const uploadsMax = 4

/** Takes a permit of the account until the scope ends. */
export const uploadPermit = Effect.map(
  ClusterSemaphore,
  (semaphore) => (accountId: string) =>
    Effect.acquireRelease(
      Effect.filterOrFail(
        semaphore.enter([{ subject: `image uploads ${accountId}`, most: uploadsMax }]),
        (release) => release !== null,
        () => new ImageUploadsReached({ details: { limit: uploadsMax } })
      ),
      (release) => Effect.sync(release)
    )
)
