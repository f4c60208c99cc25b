/** V8's garbage collector, called by the service itself. */
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

export interface Collection {
  readonly type: "minor" | "major"
  /** `last-resort` also gives the system all that the heap does not need. */
  readonly flavor?: "regular" | "last-resort"
}

let collect: ((collection: Collection) => void) | null = null

/** Synchronous. */
export const collectGarbage = (collection: Collection): void => {
  if (collect === null) {
    setFlagsFromString("--expose-gc")
    collect = runInNewContext("gc") as (collection: Collection) => void
  }
  collect(collection)
}
