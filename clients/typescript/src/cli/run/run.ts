/** `atoll run` */
import { posix } from "node:path"
import type { StartOptions } from "../../run.ts"
import type { Sandbox } from "../../Sandbox.ts"
import { command } from "../Command.ts"
import { exitCodes, WrongUsage } from "../failure.ts"
import { Input } from "../Input.ts"
import { Interruption } from "../Interruption.ts"
import { namedImage } from "../namedImage.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { jsonOf, remark, writeLine } from "../standardStreams.ts"
import { duration, variableOptions, variables } from "../values.ts"
import { inSandbox, patienceSeconds, started } from "./inSandbox.ts"
import { idleSeconds, ownSandbox, removeOwn } from "./ownSandbox.ts"

const workspace = "/workspace"

export const run = command({
  name: "run",
  summary: "Run a command in a Sandbox",
  usage: "[--sandbox SANDBOX] [OPTIONS] -- COMMAND [ARGUMENTS]",
  details: [
    "Without --sandbox it is a new Sandbox, which is deleted when the command is over. What is piped in is the",
    "command's input; a terminal is not (`atoll shell` has one). Output comes as it is written, over lost",
    "connections and restarts of the service, too. No shell is involved: for one, run `sh -c '…'`.",
    "",
    "Ctrl-C cancels the command (TERM to all that it started, KILL after 2 s); a second one leaves at once.",
    "Exit codes: the command's; 128 and the signal's number, if one ended it; 124 after --timeout; 125 where it",
    "did not run to its end for other reasons; 130 after Ctrl-C; 141 where nobody reads the output any more."
  ].join("\n"),
  options: {
    sandbox: {
      type: "string",
      short: "s",
      value: "SANDBOX",
      description: "In this one: name or id",
      completes: "sandbox"
    },
    cwd: { type: "string", short: "w", value: "DIRECTORY", description: "Where it runs: /workspace, or below it" },
    ...variableOptions,
    timeout: { type: "string", value: "TIME", description: "Kill it after so long: 90s, 15m, 2h" },
    detach: { type: "boolean", short: "d", description: "Print the operation's id, and do not wait (with --sandbox)" },
    "no-stdin": { type: "boolean", short: "n", description: "Its input is empty, whatever is piped in" },
    image: {
      type: "string",
      value: "IMAGE",
      description: "The new Sandbox has this image for its root: name or id",
      completes: "image"
    },
    "no-network": { type: "boolean", description: "The new Sandbox has no network" }
  },
  words: { least: 1, most: Number.POSITIVE_INFINITY, completes: ["command", "file"] },
  isPrefix: true,
  failsWith: exitCodes.notRun,
  examples: [
    ["run -- python3 -c 'print(6 * 7)'", "In a Sandbox of its own"],
    ["run --sandbox dev --env CI=1 -- npm test", "In one that is there"],
    ["run --image tools -- make", "With the programs of an image that was pulled"],
    ["run -s dev -- sh -c 'sort | uniq -c' < words.txt", "With input"],
    ["run -s dev -d -- make -j4", "In the background; `atoll operation output dev op_…` follows it"]
  ],
  run: async (given) => {
    const { options, words, isJson } = given
    const { sandbox: nameOrId, detach, cwd, timeout } = options
    if (detach === true && nameOrId === undefined) {
      throw new WrongUsage("--detach needs --sandbox: a new one would be deleted at once.")
    }
    if (options["no-network"] === true && nameOrId !== undefined) {
      throw new WrongUsage("--no-network is for a new Sandbox, and not for one that is there.")
    }
    if (options.image !== undefined && nameOrId !== undefined) {
      throw new WrongUsage("--image is for a new Sandbox, and not for one that is there.")
    }
    const asked: StartOptions = {
      cwd: cwd === undefined ? undefined : posix.resolve(workspace, cwd),
      env: variables(options),
      timeoutSeconds: timeout === undefined ? undefined : duration("--timeout", timeout)
    }
    const atoll = given.connect()
    const isInput = options["no-stdin"] !== true && process.stdin.isTTY !== true
    const input = isInput ? new Input(process.stdin) : null

    let own: Sandbox | null = null
    const interruption = new Interruption(() => {
      if (own !== null)
        remark(`The Sandbox ${own.id} is left. It is deleted when it has been idle for ${idleSeconds} s.`)
    })
    try {
      if (nameOrId === undefined) {
        const image = options.image === undefined ? undefined : await namedImage(atoll, options.image)
        const made = { networkEnabled: options["no-network"] !== true, image }
        own = await ownSandbox(atoll, made, interruption.signal)
      }
      const { id } = own ?? (await namedSandbox(atoll, nameOrId!))
      const sandbox = await given.connect(patienceSeconds).sandboxes.get(id, { signal: interruption.signal })
      if (detach === true) {
        const { record } = await started(sandbox, words, asked, input)
        await writeLine(isJson ? jsonOf({ operation: record }, 2) : record.id)
        return exitCodes.done
      }
      return await inSandbox(sandbox, words, asked, { input, isJson, isLasting: own === null, interruption })
    } catch (thrown) {
      if (interruption.exitCode !== null) return interruption.exitCode
      throw thrown
    } finally {
      if (own !== null) await removeOwn(atoll, own)
    }
  }
})
