/** `atoll images load` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { answerImage } from "./answerImage.ts"

/** The time in which the service answers beside the upload itself. */
const patienceSeconds = 60

export const load = command({
  name: "load",
  summary: "Make an image of a file of `docker save`, and print its id once it is ready",
  usage: "FILE [--name NAME]",
  details:
    "The file is an OCI image layout as a tar: `docker save` of Docker 25 or later, or skopeo's oci-archive. It is not compressed.",
  options: {
    name: { type: "string", value: "NAME", description: "For people; other commands take it, too" },
    "no-wait": { type: "boolean", description: "Do not wait until it is ready" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this upload: repeated with the same key and file, it is the same image"
    }
  },
  words: { least: 1, most: 1, completes: ["file"] },
  examples: [["images load tools.tar --name tools", "After `docker save -o tools.tar tools:1.4`"]],
  run: async (given) => {
    const { name, "no-wait": noWait, "idempotency-key": idempotencyKey } = given.options
    const atoll = given.connect(patienceSeconds)
    const image = await atoll.images.upload(given.words[0]!, { name, idempotencyKey, untilReady: noWait !== true })
    await answerImage(given, image)
    return exitCodes.done
  }
})
