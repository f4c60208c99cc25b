/**
 * `npm run test:fleet -- --simulated`: 3 services, 20 hosts, 5,000 Sandboxes. `--seed S` repeats what is thrown; `--runs`, `--hosts`, `--sandboxes`,
 * `--seconds` (of falls) and `--lease-ms` make more or less of it.
 */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"

const root = join(import.meta.dirname, "../../..")

/** Its exit code is the test's. */
export const simulatedFleet = (args: ReadonlyArray<string>): number => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      simulated: { type: "boolean" },
      seed: { type: "string", default: "" },
      runs: { type: "string", default: "1" },
      hosts: { type: "string", default: "20" },
      sandboxes: { type: "string", default: "5000" },
      seconds: { type: "string", default: "120" },
      "lease-ms": { type: "string", default: "4000" }
    }
  })
  for (let left = Number(values.runs); left > 0; left--) {
    const { status } = spawnSync(
      process.execPath,
      [join(root, "node_modules/vitest/vitest.mjs"), "run", "test/fleet/simulated", "--disable-console-intercept"],
      {
        cwd: root,
        stdio: "inherit",
        env: {
          ...process.env,
          ATOLL_SIMULATED_SEED: values.seed,
          ATOLL_SIMULATED_HOSTS: values.hosts,
          ATOLL_SIMULATED_SANDBOXES: values.sandboxes,
          ATOLL_SIMULATED_SECONDS: values.seconds,
          ATOLL_SIMULATED_LEASE_MS: values["lease-ms"]
        }
      }
    )
    if (status !== 0) return status ?? 1
  }
  return 0
}
