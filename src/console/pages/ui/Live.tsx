import type { FeedState } from "../feed.ts"
import { timeOfDay } from "../format.ts"

/** Whether the shown data is live. */
export const Live = ({ feed, at }: { feed: FeedState; at: number | null }) => {
  const asOf = at === null ? "" : `as of ${timeOfDay(at)}`
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
