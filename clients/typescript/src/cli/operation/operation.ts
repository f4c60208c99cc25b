/** `atoll operation` */
import type { CommandGroup } from "../Command.ts"
import { cancel } from "./cancel.ts"
import { list } from "./list.ts"
import { output } from "./output.ts"
import { show } from "./show.ts"

export const operation: CommandGroup = {
  name: "operation",
  summary: "See, follow and cancel commands that run in a Sandbox",
  commands: [list, show, output, cancel]
}
