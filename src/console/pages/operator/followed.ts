/** Polls while the page is visible, one request at a time. */
import { unreached } from "../api.ts"
import type { FeedState } from "../feed.ts"
import { type Loaded, useLoad } from "../load.ts"
import { useEvery } from "../useEvery.ts"

const everyMs = 2_000
/** A service that is silent for so long is shown as unreachable; it is polled again. */
const patienceMs = 10_000

export const useFollowed = <A>(key: string, load: (signal: AbortSignal) => Promise<A>): Loaded<A> => {
  const loaded = useLoad(key, async (signal) => {
    const asking = new AbortController()
    const giveUp = () => asking.abort()
    const timer = setTimeout(giveUp, patienceMs)
    signal.addEventListener("abort", giveUp)
    try {
      return await load(asking.signal)
    } catch (fault) {
      throw asking.signal.aborted ? unreached() : fault
    } finally {
      clearTimeout(timer)
    }
  })
  useEvery(loaded.isLoading ? null : everyMs, loaded.reload)
  return loaded
}

export const feedOf = ({ fault, at }: Loaded<unknown>): FeedState =>
  fault !== null ? { state: "lost", fault, liveUntil: at } : { state: at === null ? "connecting" : "live" }
