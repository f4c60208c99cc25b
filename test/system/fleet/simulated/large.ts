/**
 * `npm run test:fleet -- --simulated`: 3 services, 20 hosts, 5,000 Sandboxes. `--seed S` repeats the faults; `--runs`,
 * `--hosts`, `--sandboxes`, `--seconds` (of faults) and `--lease-ms` scale it.
 */
import { parseArgs } from "node:util"
import { runAsked } from "../../../support/askedTests.ts"

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
    const code = runAsked(["test/system/fleet/simulated", "--disable-console-intercept"], {
      ATOLL_SIMULATED_SEED: values.seed,
      ATOLL_SIMULATED_HOSTS: values.hosts,
      ATOLL_SIMULATED_SANDBOXES: values.sandboxes,
      ATOLL_SIMULATED_SECONDS: values.seconds,
      ATOLL_SIMULATED_LEASE_MS: values["lease-ms"]
    })
    if (code !== 0) return code
  }
  return 0
}
