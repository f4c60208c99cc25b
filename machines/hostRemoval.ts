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

export interface OnlyHere {
  readonly snapshots: number
  /** Those of the snapshots with memory. */
  readonly bound: number
  /** Uploaded ones. */
  readonly images: number
}

const still = (count: number, one: string, more = ""): ReadonlyArray<string> =>
  count === 0 ? [] : [`${count} ${count === 1 ? `${one} is` : `${one}s are`} still only here${more}.`]

/** A sentence each. */
export const onlyHere = ({ snapshots, bound, images }: OnlyHere): ReadonlyArray<string> => [
  ...still(snapshots, "snapshot", bound === 0 ? "" : `, ${bound} with memory, which cannot be copied`),
  ...still(images, "uploaded image")
]
