/** One Sandbox, loaded again at each of its transitions. */
import { useEffect, useRef } from "preact/hooks"
import type { SandboxResponse } from "../../../../schemas/Sandbox.ts"
import { get } from "../api.ts"
import { useLoad } from "../load.ts"
import { useFeed } from "../useFeed.ts"

interface Told {
  readonly kind: string
}

export const useSandbox = (id: string) => {
  const path = `/api/v2/sandboxes/${id}`
  const loaded = useLoad(id, (signal) => get<SandboxResponse>(path, signal))
  const { reload, isLoading } = loaded
  /** The response in progress may be older than the last transition. */
  const isStale = useRef(false)
  const look = () => {
    isStale.current = isLoading
    if (!isLoading) reload()
  }
  useEffect(() => {
    if (!isLoading && isStale.current) look()
  }, [isLoading])
  const feed = useFeed(`${path}/events`, {
    // Earlier changes are in the response that is loaded now.
    began: look,
    event: (data) => {
      if ((data as Told).kind === "sandbox") look()
    }
  })
  return { loaded, feed }
}
