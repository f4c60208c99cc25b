import type { FeedState } from "../feed.ts"
import { timeOfDay } from "../format.ts"

/** Whether what is shown changes by itself. */
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
          Not live: other windows have this browser's connections. It goes on when you use this one. {asOf}
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
