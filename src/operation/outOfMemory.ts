import { publicText } from "../../schemas/PublicText.ts"

/** The reason for a command that the kernel killed because memory ran out. */
export const outOfMemory = {
  code: "OUT_OF_MEMORY",
  message: publicText`The Sandbox ran out of memory, and the command was killed. Use less, or ask the operator for larger Sandboxes.`
}
