/** `atoll open` */
import { AtollError, WaitTimeout } from "../errors.ts"
import { openInBrowser } from "./browser.ts"
import { command } from "./Command.ts"
import { exitCodes, Refused, sentenceOf } from "./failure.ts"
import { insist, isUnknown } from "./insist.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { answer, remark } from "./standardStreams.ts"
import { shownTime } from "./table.ts"
import { duration, port } from "./values.ts"

/** For a waking Sandbox. */
const patienceSeconds = 60
const waitDefaultSeconds = 30

export const open = command({
  name: "open",
  summary: "Open a preview of a port: a URL for an hour",
  usage: "SANDBOX PORT [--replace] [--wait TIME]",
  details:
    "Waits until a program listens there, prints the URL, and opens it where there is a browser and a terminal.\nWhoever knows the URL may use it. A Sandbox has one preview at a time.",
  options: {
    replace: {
      type: "boolean",
      description: "Close the one that is open first: its URL is known only to who opened it"
    },
    wait: {
      type: "string",
      value: "TIME",
      description: `For a program to listen; ${waitDefaultSeconds}s by default, 0: do not wait`
    },
    "no-browser": { type: "boolean", description: "Print the URL only" }
  },
  words: { least: 2, most: 2, completes: ["sandbox", null] },
  examples: [
    ["open dev 3000", "The dev server, in the browser"],
    ["open dev 8080 --replace --no-browser", "Another port, and only its URL"]
  ],
  run: async (given) => {
    const { replace, wait } = given.options
    const wanted = port(given.words[1]!)
    const withinSeconds = wait === undefined ? waitDefaultSeconds : duration("--wait", wait)
    const atoll = given.connect(patienceSeconds)
    const sandbox = await namedSandbox(atoll, given.words[0]!)
    const replaced = async () => {
      await sandbox.previews.close()
      return sandbox.previews.open(wanted, { withinSeconds })
    }
    const opening =
      replace === true ? insist(patienceSeconds, replaced) : sandbox.previews.open(wanted, { withinSeconds })
    const preview = await opening.catch((thrown: unknown) => {
      if (thrown instanceof AtollError && thrown.is("PREVIEW_EXISTS")) {
        throw new Refused(
          "A preview of this Sandbox is open, and its URL is known only to who opened it. --replace closes it and opens another one."
        )
      }
      if (thrown instanceof WaitTimeout) {
        throw new Refused(
          `Nothing listens on port ${wanted} of the Sandbox after ${withinSeconds} s. Start a program that does (\`atoll run -s ${given.words[0]} -d -- …\`), or give --wait.`
        )
      }
      if (!isUnknown(thrown)) throw thrown
      const advice =
        "It may be open, and its URL is lost: the same with --replace closes what is open, and opens another one."
      throw new Refused(sentenceOf(thrown, atoll.api.url.origin, advice))
    })
    const { id, url, expiresAt } = preview
    await answer(given, url, { preview: { id, sandboxId: sandbox.id, port: wanted, url, status: "active", expiresAt } })
    if (given.isJson || !process.stdout.isTTY) return exitCodes.done
    remark(`It is there until ${shownTime(expiresAt)}.`)
    if (given.options["no-browser"] !== true) openInBrowser(url)
    return exitCodes.done
  }
})
