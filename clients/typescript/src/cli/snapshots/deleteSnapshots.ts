/** `atoll snapshots delete` */
import { command } from "../Command.ts"
import { deleteEach } from "../eachNamed.ts"
import { namedSnapshot } from "../namedSnapshot.ts"

export const remove = command({
  name: "delete",
  summary: "Delete snapshots, for good",
  usage: "SNAPSHOT…",
  details: "Nothing is asked. Sandboxes that were made of it keep their volumes.",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["snapshot"] },
  examples: [["snapshots delete before-migration snp_01kqv5v3s8e2r9w0t7c4m6n1ab", "By name and by id"]],
  run: (given) => deleteEach(given, "snapshots", namedSnapshot)
})
