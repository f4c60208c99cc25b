/**
 * `npm run test:fleet -- --faults N --seed S`: as many faults as you like.
 * `npm run test:fleet`: every suite of the HTTP contract that can, over a fleet; `-- --only PATTERN`: of their files.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { inProcessOnly, overAFleet } from "./contract.ts"
import { simulatedFleet } from "./simulated/large.ts"

if (process.argv.includes("--simulated")) process.exit(simulatedFleet(process.argv.slice(2)))

const { values } = parseArgs({
  options: { faults: { type: "string" }, seed: { type: "string" }, only: { type: "string", default: "" } }
})
const { faults } = values
const files =
  faults === undefined ? overAFleet.filter((file) => file.includes(values.only)) : ["test/fleet/faults.test.ts"]

const left = Object.keys(inProcessOnly)
  .map((name) => name.replaceAll(/[.?()]/g, "\\$&"))
  .join("|")

const root = join(import.meta.dirname, "../..")
const { status } = spawnSync(
  process.execPath,
  [
    join(root, "node_modules/vitest/vitest.mjs"),
    "run",
    ...files,
    "--disable-console-intercept",
    ...(faults === undefined ? ["--maxWorkers", "2", "--testNamePattern", `^(?!.*(${left}))`] : [])
  ],
  {
    cwd: root,
    stdio: "inherit",
    env: {
      ...process.env,
      ...(faults === undefined
        ? { ATOLL_TEST_FLEET: "1" }
        : { ATOLL_FLEET_FAULTS: faults, ATOLL_FLEET_SEED: values.seed ?? "" })
    }
  }
)
process.exitCode = status ?? 1
