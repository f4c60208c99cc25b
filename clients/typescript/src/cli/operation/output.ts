/** `atoll operation output` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { endOf } from "../run/exitCode.ts"
import { passOn } from "../run/passOn.ts"
import { remark } from "../standardStreams.ts"
import { whole } from "../values.ts"
import { namedOperation } from "./namedOperation.ts"

/** How long an absent service is retried while it is followed. */
const patienceSeconds = 600

export const output = command({
  name: "output",
  summary: "Show what an operation wrote, and follow it to its end",
  usage: "SANDBOX OPERATION [--from-stdout OFFSET] [--from-stderr OFFSET]",
  details:
    "Its bytes as they are, over lost connections; the exit code is the command's, as of `atoll run`. Ctrl-C ends the\nreading, and not the command. The service keeps the end of what is written, 16 MiB of each stream by default.",
  options: {
    "from-stdout": { type: "string", value: "OFFSET", description: "Absolute, in bytes; 0 by default" },
    "from-stderr": { type: "string", value: "OFFSET", description: "The same of the errors" }
  },
  failsWith: exitCodes.notRun,
  words: { least: 2, most: 2, completes: ["sandbox", null] },
  examples: [["operation output dev op_6a1f7f5f0a8d4ad1b07e4e1b4b4e9c11", "All of it, to the end"]],
  run: async (given) => {
    const offset = (name: "from-stdout" | "from-stderr"): number => {
      const text = given.options[name]
      return text === undefined ? 0 : whole(`--${name}`, text, 0, Number.MAX_SAFE_INTEGER)
    }
    const from = { stdout: offset("from-stdout"), stderr: offset("from-stderr") }
    const { id } = await namedSandbox(given.connect(), given.words[0]!)
    const sandbox = await given.connect(patienceSeconds).sandboxes.get(id)
    const { exitCode, said } = endOf(await passOn(await namedOperation(sandbox, given.words[1]!), { from }))
    if (said !== null) remark(said)
    return exitCode
  }
})
