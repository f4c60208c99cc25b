/** `atoll snapshots` */
import type { CommandGroup } from "../Command.ts"
import { remove } from "./deleteSnapshots.ts"
import { list } from "./list.ts"
import { show } from "./show.ts"
import { create } from "./takeSnapshot.ts"

export const snapshots: CommandGroup = {
  name: "snapshots",
  summary: "Take, see and delete snapshots of Sandboxes' volumes",
  commands: [create, list, show, remove]
}
