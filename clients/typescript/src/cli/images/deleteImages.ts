/** `atoll images delete` */
import { command } from "../Command.ts"
import { deleteEach } from "../eachNamed.ts"
import { namedImage } from "../namedImage.ts"

export const remove = command({
  name: "delete",
  summary: "Delete images, for good",
  usage: "IMAGE…",
  details: "Nothing is asked. One that a Sandbox or a snapshot has is refused.",
  options: {},
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["image"] },
  examples: [["images delete tools img_01kqv5v3s8e2r9w0t7c4m6n1ab", "By name and by id"]],
  run: (given) => deleteEach(given, "images", namedImage)
})
