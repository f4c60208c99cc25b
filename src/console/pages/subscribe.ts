/** Parts of a page that follow the same stream share one connection: browsers allow few connections to one host. */
import { type FeedState, type Follower, follow } from "./feed.ts"

interface Shared {
  state: FeedState
  readonly followers: Set<Follower>
  readonly abort: AbortController
}

const streams = new Map<string, Shared>()

const opened = (path: string): Shared => {
  const found = streams.get(path)
  if (found !== undefined) return found
  const shared: Shared = { state: { state: "connecting" }, followers: new Set(), abort: new AbortController() }
  streams.set(path, shared)
  const each = (tell: (follower: Follower) => void) => {
    for (const follower of [...shared.followers]) tell(follower)
  }
  void follow(
    path,
    {
      began: () => each((follower) => follower.began()),
      event: (data, name) => each((follower) => follower.event(data, name)),
      changed: (state) => {
        shared.state = state
        each((follower) => follower.changed(state))
      }
    },
    shared.abort.signal
  )
  return shared
}

/**
 * Reports each event from now on. A new listener of an open stream first gets `began`: earlier events are not in the stream.
 *
 * @returns Unsubscribes; the connection closes with its last listener.
 */
export const subscribe = (path: string, follower: Follower): (() => void) => {
  const shared = opened(path)
  shared.followers.add(follower)
  follower.changed(shared.state)
  if (shared.state.state === "live") follower.began()
  return () => {
    shared.followers.delete(follower)
    if (shared.followers.size > 0 || streams.get(path) !== shared) return
    streams.delete(path)
    shared.abort.abort()
  }
}
