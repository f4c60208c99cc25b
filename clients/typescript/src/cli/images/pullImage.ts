/** `atoll images pull` */
import { command } from "../Command.ts"
import { exitCodes, WrongUsage } from "../failure.ts"
import { askSecret, isPerson } from "../prompt.ts"
import { answerImage } from "./answerImage.ts"

/** The time in which the service accepts it. */
const patienceSeconds = 60

const passwordVariable = "ATOLL_REGISTRY_PASSWORD"

/** A password among the arguments would be seen by every user of this computer. */
const passwordOf = async (username: string | undefined): Promise<string | undefined> => {
  if (username === undefined) return undefined
  const given = process.env[passwordVariable]
  if (given !== undefined && given !== "") return given
  if (isPerson()) return askSecret("Password or token for the registry")
  throw new WrongUsage(`--username needs the password or token for the registry in ${passwordVariable}.`)
}

export const pull = command({
  name: "pull",
  summary: "Pull an image from its registry, and print its id once it is ready",
  usage: "REGISTRY/REPOSITORY[:TAG][@DIGEST] [--name NAME] [--username NAME]",
  details: [
    "The registry is always named: docker.io/library/alpine:3.22, for example. What a tag names is looked up once.",
    `The password or token is that of ${passwordVariable}, or asked for.`
  ].join("\n"),
  options: {
    name: { type: "string", value: "NAME", description: "For people; other commands take it, too" },
    username: { type: "string", short: "u", value: "NAME", description: "For a registry that asks for one" },
    "no-wait": { type: "boolean", description: "Do not wait until it is ready" },
    "idempotency-key": {
      type: "string",
      value: "KEY",
      description: "Names this pull: repeated with the same key, it is the same image"
    }
  },
  words: { least: 1, most: 1, completes: [] },
  examples: [
    ["images pull docker.io/library/alpine:3.22 --name alpine", "From a public registry"],
    ['sandbox create --image "$(atoll images pull ghcr.io/team/tools:1.4)"', "A Sandbox with it for its root"]
  ],
  run: async (given) => {
    const { name, username, "no-wait": noWait, "idempotency-key": idempotencyKey } = given.options
    const password = await passwordOf(username)
    const atoll = given.connect(patienceSeconds)
    const asked = { name, username, password, idempotencyKey, untilReady: noWait !== true }
    const image = await atoll.images.pull(given.words[0]!, asked)
    await answerImage(given, image)
    return exitCodes.done
  }
})
