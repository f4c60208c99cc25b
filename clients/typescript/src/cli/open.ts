/** `atoll open` */
import { AtollError, WaitTimeout } from "../errors.ts"
import type { Preview } from "../Previews.ts"
import type { Sandbox } from "../Sandbox.ts"
import { openInBrowser } from "./browser.ts"
import { command } from "./Command.ts"
import { exitCodes, Refused, sentenceOf, WrongUsage } from "./failure.ts"
import { insist, isUnknown } from "./insist.ts"
import { namedSandbox } from "./namedSandbox.ts"
import { answer, remark } from "./standardStreams.ts"
import { shownTime } from "./table.ts"
import { duration, port } from "./values.ts"

/** For a waking Sandbox. */
const patienceSeconds = 60
const waitDefaultSeconds = 30

/** Null: none of that port is open. */
const known = async (sandbox: Sandbox, wanted: number): Promise<Preview | null> => {
  try {
    return await sandbox.previews.get(wanted)
  } catch (thrown) {
    if (thrown instanceof AtollError && thrown.is("NOT_FOUND")) return null
    throw thrown
  }
}

export const open = command({
  name: "open",
  summary: "Open a preview of a port: a URL for an hour",
  usage: "SANDBOX PORT [--alongside] [--replace] [--wait TIME]",
  details: [
    "Waits until a program listens there, prints the URL, and opens it where there is a browser and a terminal.",
    "Anyone who knows the URL may use it. Of a port whose preview is open it prints the same URL again."
  ].join("\n"),
  options: {
    alongside: { type: "boolean", description: "Beside previews of other ports, which stay open" },
    replace: { type: "boolean", description: "Close the previews that are open first; the URL is another one then" },
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
    ["open dev 8080 --alongside --no-browser", "Another port beside it, and only its URL"]
  ],
  run: async (given) => {
    const { replace, alongside, wait } = given.options
    if (replace === true && alongside === true)
      throw new WrongUsage("--alongside keeps the others open, --replace closes them: give one of the two.")
    const wanted = port(given.words[1]!)
    const withinSeconds = wait === undefined ? waitDefaultSeconds : duration("--wait", wait)
    const atoll = given.connect(patienceSeconds)
    const sandbox = await namedSandbox(atoll, given.words[0]!)
    const replaced = async () => {
      await sandbox.previews.close()
      return sandbox.previews.open(wanted, { withinSeconds })
    }
    const openedOrFound = async () =>
      (await known(sandbox, wanted)) ?? sandbox.previews.open(wanted, { withinSeconds, alongside })
    const opening = replace === true ? insist(patienceSeconds, replaced) : openedOrFound()
    const preview = await opening.catch((thrown: unknown) => {
      if (thrown instanceof AtollError && thrown.is("PREVIEW_EXISTS")) {
        throw new Refused(
          "Another port of this Sandbox has a preview. --alongside opens this one beside it, --replace closes the other first.",
          null,
          thrown
        )
      }
      if (thrown instanceof WaitTimeout) {
        throw new Refused(
          `Nothing listens on port ${wanted} of the Sandbox after ${withinSeconds} s. Start a program that does (\`atoll run -s ${given.words[0]} -d -- …\`), or give --wait.`
        )
      }
      if (!isUnknown(thrown)) throw thrown
      const advice = "It may be open: the same command again shows its URL."
      throw new Refused(sentenceOf(thrown, atoll.api.url.origin, advice), null, thrown)
    })
    const { id, url, expiresAt } = preview
    await answer(given, url, { preview: { id, sandboxId: sandbox.id, port: wanted, url, status: "active", expiresAt } })
    if (given.isJson || !process.stdout.isTTY) return exitCodes.done
    remark(`It is there until ${shownTime(expiresAt)}.`)
    if (given.options["no-browser"] !== true) openInBrowser(url)
    return exitCodes.done
  }
})
