/** `atoll operation cancel` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { answer } from "../standardStreams.ts"
import { namedOperation } from "./namedOperation.ts"
import { outcomeOf } from "./outcome.ts"

/** The time in which the service ends it. */
const patienceSeconds = 60

export const cancel = command({
  name: "cancel",
  summary: "End a command and all that it started",
  usage: "SANDBOX OPERATION",
  details: "TERM, and KILL after 2 s. One that was over first keeps its result.",
  options: {},
  words: { least: 2, most: 2, completes: ["sandbox", null] },
  examples: [["operation cancel dev op_6a1f7f5f0a8d4ad1b07e4e1b4b4e9c11", "By its id"]],
  run: async (given) => {
    const sandbox = await namedSandbox(given.connect(patienceSeconds), given.words[0]!)
    const record = await (await namedOperation(sandbox, given.words[1]!)).cancel()
    await answer(given, () => `${record.id} is ${outcomeOf(record)}.`, { operation: record })
    return exitCodes.done
  }
})
