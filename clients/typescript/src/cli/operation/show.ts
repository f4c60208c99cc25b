/** `atoll operation show` */
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { answer } from "../standardStreams.ts"
import { list, shownBytes, shownTime } from "../table.ts"
import { namedOperation } from "./namedOperation.ts"
import { outcomeOf } from "./outcome.ts"

export const show = command({
  name: "show",
  summary: "Show one operation",
  usage: "SANDBOX OPERATION",
  options: {},
  words: { least: 2, most: 2, completes: ["sandbox", null] },
  examples: [["operation show dev op_6a1f7f5f0a8d4ad1b07e4e1b4b4e9c11", "Whether it is over, and how it ended"]],
  run: async (given) => {
    const sandbox = await namedSandbox(given.connect(), given.words[0]!)
    const { record } = await namedOperation(sandbox, given.words[1]!)
    const { stdoutBytes, stderrBytes } = record.output
    const prose = () =>
      list([
        ["id", record.id],
        ["command", record.argv.join(" ")],
        ["in", record.cwd],
        ["status", outcomeOf(record)],
        ...(record.reason === null ? [] : [["because", record.reason.message] as const]),
        ["output", `${shownBytes(stdoutBytes)}, and ${shownBytes(stderrBytes)} of errors`],
        ["processes", record.status === "queued" ? "none yet: it waits for its turn" : record.processTree],
        ["created", shownTime(record.createdAt)],
        ["started", shownTime(record.startedAt)],
        ["finished", shownTime(record.finishedAt)]
      ])
    await answer(given, prose, { operation: record })
    return exitCodes.done
  }
})
