/** A stream of events for as long as a component is shown. */
import { useEffect, useRef, useState } from "preact/hooks"
import { type FeedState, follow } from "./feed.ts"

interface Heard {
  readonly began: () => void
  readonly event: (data: unknown) => void
}

export const useFeed = (path: string, heard: Heard): FeedState => {
  const [state, setState] = useState<FeedState>({ state: "connecting" })
  const now = useRef(heard)
  now.current = heard
  useEffect(() => {
    const abort = new AbortController()
    setState({ state: "connecting" })
    void follow(
      path,
      { began: () => now.current.began(), event: (data) => now.current.event(data), changed: setState },
      abort.signal
    )
    return () => abort.abort()
  }, [path])
  return state
}
