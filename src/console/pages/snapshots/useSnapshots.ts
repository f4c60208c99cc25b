/** The snapshots of the account or of one Sandbox, loaded again at each transition of one. */
import { useCallback } from "preact/hooks"
import type { SnapshotList } from "../../../../schemas/Snapshot.ts"
import { get, queryOf } from "../api.ts"
import { type Page, usePages } from "../paged.ts"
import { useFeed } from "../useFeed.ts"

type Snapshot = SnapshotList["snapshots"][number]

const kept = "creating,ready,failed,deleting"

/** @param sandboxId Null: of all Sandboxes. */
export const useSnapshots = (sandboxId: string | null) => {
  const load = useCallback(
    async (cursor: string | null, signal?: AbortSignal): Promise<Page<Snapshot>> => {
      const query = queryOf({ sandboxId, status: kept, limit: 100, cursor })
      const { snapshots, nextCursor } = await get<SnapshotList>(`/api/v2/snapshots${query}`, signal)
      return { entries: snapshots, nextCursor }
    },
    [sandboxId]
  )
  const listed = usePages(`snapshots ${sandboxId}`, load)
  const { reload } = listed
  const feed = useFeed(sandboxId === null ? "/api/v2/events" : `/api/v2/sandboxes/${sandboxId}/events`, {
    began: reload,
    event: (data) => {
      if ((data as { readonly kind: string }).kind === "snapshot") reload()
    }
  })
  return { listed, feed }
}
