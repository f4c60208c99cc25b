/** One Sandbox as it is now: it is asked for anew whenever the stream tells of a step of it. */
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
  /** Something happened that the answer to come may not have seen. */
  const isStale = useRef(false)
  const look = () => {
    isStale.current = isLoading
    if (!isLoading) reload()
  }
  useEffect(() => {
    if (!isLoading && isStale.current) look()
  }, [isLoading])
  const feed = useFeed(`${path}/events`, {
    // Whatever happened before the stream began is in what is asked for now.
    began: look,
    event: (data) => {
      if ((data as Told).kind === "sandbox") look()
    }
  })
  return { loaded, feed }
}
