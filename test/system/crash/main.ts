/**
 * `npm run test:crash -- --operations N --seed S`: output under kills, with N operations.
 * `npm run test:crash -- --money-rounds N`: charges under N kills.
 */
import { parseArgs } from "node:util"
import { runAsked } from "../../support/askedTests.ts"
import { unusable } from "../../support/host/namespace/TestHost.ts"

const { values } = parseArgs({
  options: {
    operations: { type: "string", default: "1000" },
    seed: { type: "string" },
    "money-rounds": { type: "string" }
  }
})
const rounds = values["money-rounds"]
// The money tests have Sandboxes in memory.
const [file, refusal] = rounds === undefined ? ["output", unusable] : ["money", null]

process.exitCode = runAsked(
  [`test/system/crash/${file}.test.ts`, "--disable-console-intercept"],
  {
    ATOLL_CRASH_OPERATIONS: values.operations,
    ATOLL_CRASH_SEED: values.seed ?? "",
    ATOLL_CRASH_MONEY_ROUNDS: rounds ?? ""
  },
  refusal
)
