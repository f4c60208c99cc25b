/** The snapshots of a driver that has none. */
import { Effect } from "effect"
import { RuntimeUnsupported, type Snapshots } from "./Runtime.ts"

export const noSnapshots: Snapshots = {
  capture: () => Effect.fail(new RuntimeUnsupported({ message: "This host takes no snapshots." })),
  remove: () => Effect.void,
  inventory: Effect.succeed([])
}
