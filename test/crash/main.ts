/**
 * `npm run test:crash -- --operations N --seed S`: output under kills, with as many operations as you like.
 * `npm run test:crash -- --money-rounds N`: what is charged, under as many kills as you like.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    operations: { type: "string", default: "1000" },
    seed: { type: "string" },
    "money-rounds": { type: "string" }
  }
})
const rounds = values["money-rounds"]
const file = rounds === undefined ? "output" : "money"

const root = join(import.meta.dirname, "../..")
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", `test/crash/${file}.test.ts`, "--disable-console-intercept"],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      ATOLL_CRASH_OPERATIONS: values.operations,
      ATOLL_CRASH_SEED: values.seed ?? "",
      ATOLL_CRASH_MONEY_ROUNDS: rounds ?? ""
    }
  }
)
process.exitCode = status ?? 1
