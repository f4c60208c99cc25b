/** What stands against the removal of a host without force. Pure, for browsers and the command line too: the machine sees no counts of Sandboxes. */

interface Counts {
  readonly all: number
  /** Those of them that run, sleep or boot. */
  readonly up: number
}

/** `runs`: Sandboxes still run there. `lives`: Sandboxes live there. `isUsed`: the host has to be drained, or lost, first. Null: nothing. */
export const removalObstacle = (state: string, { all, up }: Counts): "runs" | "lives" | "isUsed" | null => {
  switch (state) {
    case "lost":
    case "gone":
      return null
    case "draining":
      return up === 0 ? null : "runs"
    case "cordoned":
      return all === 0 ? null : "lives"
    default:
      return "isUsed"
  }
}
