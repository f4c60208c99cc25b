/** `npm run test:crash -- --operations N --seed S`: output under kills, with as many operations as you like. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"

const { values } = parseArgs({ options: { operations: { type: "string", default: "1000" }, seed: { type: "string" } } })

const root = join(import.meta.dirname, "../..")
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", "test/crash/output.test.ts", "--disable-console-intercept"],
  {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, ATOLL_CRASH_OPERATIONS: values.operations, ATOLL_CRASH_SEED: values.seed ?? "" }
  }
)
process.exitCode = status ?? 1
