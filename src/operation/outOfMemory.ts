import { publicText } from "../../schemas/PublicText.ts"

/** What a command that the kernel killed for want of memory is told with. */
export const outOfMemory = {
  code: "OUT_OF_MEMORY",
  message: publicText`The Sandbox ran out of memory, and the command was killed. Use less, or ask the operator for larger Sandboxes.`
}
