/** `atoll sandbox` */
import type { CommandGroup } from "../Command.ts"
import { create } from "./create.ts"
import { list } from "./list.ts"
import { remove } from "./remove.ts"
import { show } from "./show.ts"
import { start } from "./start.ts"
import { stop } from "./stop.ts"
import { update } from "./update.ts"

export const sandbox: CommandGroup = {
  name: "sandbox",
  summary: "Make, see, change, stop and delete Sandboxes",
  commands: [create, list, show, update, stop, start, remove]
}
