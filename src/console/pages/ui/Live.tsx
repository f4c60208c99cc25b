import type { FeedState } from "../feed.ts"
import { timeOfDay } from "../format.ts"

/** Null: the data was never known to be the present one. */
const currentAt = (feed: FeedState, at: number | null): number | null => {
  const liveUntil = feed.state === "lost" || feed.state === "resting" ? feed.liveUntil : null
  return at === null ? null : Math.max(at, liveUntil ?? 0)
}

/** Whether the shown data is live; otherwise the last moment at which it was. */
export const Live = ({ feed, at }: { feed: FeedState; at: number | null }) => {
  const current = currentAt(feed, at)
  const asOf = current === null ? "" : `as of ${timeOfDay(current)}`
  switch (feed.state) {
    case "live":
      return (
        <span class="live" role="status">
          Live
        </span>
      )
    case "resting":
      return (
        <span class="as-of" role="status">
          Not live: other windows use this browser's connections. It continues when you use this window. {asOf}
        </span>
      )
    case "connecting":
    case "refused":
      return <span class="as-of">{asOf}</span>
    case "lost":
      return (
        <span class="as-of" role="status" title={feed.fault instanceof Error ? feed.fault.message : ""}>
          Not live, reconnecting … {asOf}
        </span>
      )
  }
}
