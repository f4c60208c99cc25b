/** `atoll operation list` */
import type { Operation } from "../../generated/schemas.ts"
import { command } from "../Command.ts"
import { exitCodes } from "../failure.ts"
import { namedSandbox } from "../namedSandbox.ts"
import { answer } from "../standardStreams.ts"
import { shownAge, table } from "../table.ts"
import { whole } from "../values.ts"
import { outcomeOf } from "./outcome.ts"

const limitDefault = 20
const limitMax = 100_000

export const list = command({
  name: "list",
  summary: "List the operations of a Sandbox, the newest first",
  usage: "SANDBOX [--limit COUNT]",
  options: {
    limit: { type: "string", value: "COUNT", description: `Most that are shown; ${limitDefault} by default` }
  },
  words: { least: 1, most: 1, completes: ["sandbox"] },
  examples: [["operation list dev", "What ran last"]],
  run: async (given) => {
    const { limit } = given.options
    const most = limit === undefined ? limitDefault : whole("--limit", limit, 1, limitMax)
    const sandbox = await namedSandbox(given.connect(), given.words[0]!)
    const operations: Array<Operation> = []
    for await (const { record } of sandbox.operations()) {
      operations.push(record)
      if (operations.length >= most) break
    }
    await answer(
      given,
      () =>
        table(
          [
            { name: "ID", isWhole: true },
            { name: "STATUS", isWhole: true },
            { name: "AGE", isWhole: true },
            { name: "COMMAND" }
          ],
          operations.map((record) => [record.id, outcomeOf(record), shownAge(record.createdAt), record.argv.join(" ")])
        ),
      { operations, nextCursor: null }
    )
    return exitCodes.done
  }
})
