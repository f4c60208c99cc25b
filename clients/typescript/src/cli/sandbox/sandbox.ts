/** `atoll sandbox` */
import type { CommandGroup } from "../Command.ts"
import { list } from "./list.ts"

export const sandbox: CommandGroup = {
  name: "sandbox",
  summary: "Make, see, stop and delete Sandboxes",
  commands: [list]
}
