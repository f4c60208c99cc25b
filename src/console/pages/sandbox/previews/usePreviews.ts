/** The previews of a Sandbox, loaded again whenever one changes. */
import { useEffect, useRef } from "preact/hooks"
import type { PreviewList } from "../../../../../schemas/Preview.ts"
import { get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { useFeed } from "../../useFeed.ts"

/** Changes within this time are loaded together. */
const gatherMs = 50

export const usePreviews = (sandboxId: string) => {
  const path = `/api/v2/sandboxes/${sandboxId}`
  const loaded = useLoad(path, (signal) => get<PreviewList>(`${path}/previews`, signal))
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null)
  useEffect(() => () => clearTimeout(timer.current ?? undefined), [])
  const { reload } = loaded
  const feed = useFeed(`${path}/events`, {
    began: reload,
    event: (data) => {
      if ((data as { readonly kind: string }).kind !== "preview") return
      timer.current ??= setTimeout(() => {
        timer.current = null
        reload()
      }, gatherMs)
    }
  })
  return { loaded, feed }
}
