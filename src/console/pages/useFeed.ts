/** Follows a stream of events while a component is mounted. */
import { useEffect, useRef, useState } from "preact/hooks"
import type { FeedState } from "./feed.ts"
import { subscribe } from "./subscribe.ts"

interface Heard {
  readonly began: () => void
  readonly event: (data: unknown) => void
}

export const useFeed = (path: string, heard: Heard): FeedState => {
  const [state, setState] = useState<FeedState>({ state: "connecting" })
  const now = useRef(heard)
  now.current = heard
  useEffect(
    () =>
      subscribe(path, {
        began: () => now.current.began(),
        event: (data) => now.current.event(data),
        changed: setState
      }),
    [path]
  )
  return state
}
