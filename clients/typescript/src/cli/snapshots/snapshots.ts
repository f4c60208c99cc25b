/** `atoll snapshots` */
import type { CommandGroup } from "../Command.ts"
import { remove } from "./deleteSnapshots.ts"
import { exportSnapshot } from "./exportSnapshot.ts"
import { importSnapshot } from "./importSnapshot.ts"
import { list } from "./list.ts"
import { show } from "./show.ts"
import { create } from "./takeSnapshot.ts"

export const snapshots: CommandGroup = {
  name: "snapshots",
  summary: "Take, see, move and delete snapshots of Sandboxes' volumes",
  commands: [create, list, show, exportSnapshot, importSnapshot, remove]
}
