/** `atoll sandbox stop` */
import { command } from "../Command.ts"
import { each } from "./each.ts"

export const stop = command({
  name: "stop",
  summary: "Stop Sandboxes, and keep their volumes",
  usage: "SANDBOX…",
  details: "All that runs in them ends. `atoll sandbox start` boots them again, with the files that they had.",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["sandbox"] },
  examples: [
    ["sandbox stop dev", "By its name"],
    ["sandbox stop $(atoll sandbox list -q --status running)", "All that run"]
  ],
  run: (given) => each(given, "is stopped", (sandbox) => sandbox.stop())
})
