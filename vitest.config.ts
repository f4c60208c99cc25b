import { availableParallelism, totalmem } from "node:os"
import { defineConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** What takes longest, so that nothing long is begun last; what computes and what waits by turns, so that they run beside each other. */
const long = [
  "test/race/race.test.ts",
  "test/http/outage.test.ts",
  "test/crash/money.test.ts",
  "test/host/qemu/machines.test.ts",
  "test/cluster/faults.test.ts",
  "test/host/qemu/processes.test.ts",
  "test/cluster/takeover.test.ts",
  "test/setup/readmeCommands.test.ts",
  "test/http/lostAnswers.test.ts",
  "test/console/pages/whole.test.ts",
  "test/setup/launch.test.ts",
  "test/console/pages/console.test.ts",
  "test/host/namespace/restart.test.ts",
  "test/cluster/rolling.test.ts",
  "test/clients/cli/killed.test.ts",
  "test/clients/gigabyte.test.ts",
  "test/clients/cli/cli.test.ts",
  "test/clients/python/killed.test.ts",
  "test/clients/python/package.test.ts",
  "test/account/cli.test.ts",
  "test/agent/hostile/hostile.test.ts",
  "test/backup/backup.test.ts",
  "test/account/cliCredit.test.ts",
  "test/setup/upgrade.test.ts",
  "test/files/contract.qemu.test.ts",
  "test/crash/crash.test.ts"
]

const placeOf = ({ moduleId }: TestSpecification): number => {
  const at = long.findIndex((name) => moduleId.endsWith(name))
  return at === -1 ? long.length : at
}

class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b))
  }
}

const processors = availableParallelism()
/** The largest have a browser, or machines, beside a service. */
const bytesOfOne = 2 * 1024 ** 3

/** More than processors: a third of what a worker does is to wait, for machines that boot, leases that end, pages that load. */
const workers = Math.max(1, Math.min(processors + Math.ceil(processors / 2), Math.floor(totalmem() / bytesOfOne)))

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/TestPostgres.ts", "test/described/describe.ts"],
    setupFiles: "test/described/watch.ts",
    pool: "forks",
    maxWorkers: workers,
    sequence: { sequencer: LongestFirst },
    // Patience, not a promise: shared machines are slow at times, and no test measures speed.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    teardownTimeout: 60_000
  }
})
