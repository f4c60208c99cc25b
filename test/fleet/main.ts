/** `npm run test:fleet`: every suite of the HTTP contract that can, over a fleet; `-- --only PATTERN`: of their files. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { overAFleet } from "./contract.ts"
import { simulatedFleet } from "./simulated/large.ts"

if (process.argv.includes("--simulated")) process.exit(simulatedFleet(process.argv.slice(2)))

const { values } = parseArgs({ options: { only: { type: "string", default: "" } } })
const files = overAFleet.filter((file) => file.includes(values.only))

const root = join(import.meta.dirname, "../..")
const { status } = spawnSync(
  process.execPath,
  [join(root, "node_modules/vitest/vitest.mjs"), "run", ...files, "--maxWorkers", "2"],
  { cwd: root, stdio: "inherit", env: { ...process.env, ATOLL_TEST_FLEET: "1" } }
)
process.exitCode = status ?? 1
