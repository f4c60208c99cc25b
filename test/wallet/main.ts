/**
 * `npm run test:money -- --runs N --seed=S --path P --only "in memory"`: the money tests, more of them or one of them again.
 *
 * Prints what failed first, then the smallest steps that were found to fail, with the command that repeats them.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"

const { values } = parseArgs({
  options: {
    runs: { type: "string" },
    seed: { type: "string" },
    path: { type: "string" },
    only: { type: "string" }
  }
})

const root = join(import.meta.dirname, "../..")
const { status } = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    "test/wallet",
    ...(values.only === undefined ? [] : ["--testNamePattern", values.only])
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      ATOLL_MONEY_RUNS: values.runs ?? "",
      ATOLL_MONEY_SEED: values.seed ?? "",
      ATOLL_MONEY_PATH: values.path ?? ""
    }
  }
)
process.exitCode = status ?? 1
