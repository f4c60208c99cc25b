/** `npm run atoll` passes the customer's commands on: all of them, except those that it has itself. */
import { assert, describe, it } from "vitest"
import { commands } from "../../../clients/typescript/src/cli/commands.ts"
import { customersCommands } from "../../../src/cli/customersCommands.ts"

/** `usage` is the operator's here, and `completion` completes the installed program. */
const own = ["usage", "completion"]

describe("the command line of a service's folder", () => {
  it("has the customer's commands", () => {
    const theirs = commands.map(({ name }) => name).filter((name) => !own.includes(name))
    assert.deepStrictEqual([...customersCommands].toSorted(), theirs.toSorted())
  })
})
