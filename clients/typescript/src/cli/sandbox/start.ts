/** `atoll sandbox start` */
import { command } from "../Command.ts"
import { each } from "./each.ts"

export const start = command({
  name: "start",
  summary: "Boot stopped Sandboxes again, with the volumes that they have",
  usage: "SANDBOX…",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["sandbox"] },
  examples: [["sandbox start dev", "By its name"]],
  run: (given) => each(given, "runs", (sandbox) => sandbox.boot())
})
