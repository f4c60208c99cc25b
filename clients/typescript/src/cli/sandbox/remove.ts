/** `atoll sandbox delete` */
import { command } from "../Command.ts"
import { each } from "./each.ts"

export const remove = command({
  name: "delete",
  summary: "Delete Sandboxes with their volumes, for good",
  usage: "SANDBOX…",
  details: "Nothing is asked. One that is being deleted, or deleted already, is deleted.",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["sandbox"] },
  examples: [["sandbox delete dev sbx_01kqv5v3s8e2r9w0t7c4m6n1ab", "By name and by id"]],
  run: (given) =>
    each(given, "is deleted", async (sandbox) => {
      await sandbox.delete()
      await sandbox.refresh()
    })
})
