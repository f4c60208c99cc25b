/** What stands against the removal of a host without force, and what is lost with it. Pure, for browsers and the command line too: the machine sees no counts of Sandboxes. */

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

/** Null: it has none. @param bound Those of them with memory. */
export const snapshotsOnlyHere = (count: number, bound: number): string | null => {
  if (count === 0) return null
  const still = count === 1 ? "1 snapshot is still only here" : `${count} snapshots are still only here`
  return bound === 0 ? `${still}.` : `${still}, ${bound} with memory, which cannot be copied.`
}
