import { globSync } from "node:fs"
import { availableParallelism, totalmem } from "node:os"
import { dirname } from "node:path"
import { defineConfig, type ViteUserConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** What takes longest, so that nothing long is begun last; what computes and what waits by turns, so that they run beside each other. */
const long = [
  "test/race/race.test.ts",
  "test/http/outage.test.ts",
  "test/crash/money.test.ts",
  "test/host/namespace/restart.test.ts",
  "test/host/qemu/machines.test.ts",
  "test/cluster/faults.test.ts",
  "test/clients/gigabyte.test.ts",
  "test/fleet/faults.test.ts",
  "test/host/qemu/processes.test.ts",
  "test/clients/cli/killed.test.ts",
  "test/clients/cli/cli.test.ts",
  "test/cluster/takeover.test.ts",
  "test/setup/readmeCommands.test.ts",
  "test/http/lostAnswers.test.ts",
  "test/console/pages/console.test.ts",
  "test/agent/hostile/hostile.test.ts",
  "test/console/pages/whole.test.ts",
  "test/account/cliCredit.test.ts",
  "test/backup/backup.test.ts",
  "test/cluster/queue.test.ts",
  "test/account/cli.test.ts",
  "test/setup/launch.test.ts",
  "test/crash/crash.test.ts",
  "test/cluster/rolling.test.ts",
  "test/setup/upgrade.test.ts",
  "test/console/pages/machines.test.ts",
  "test/clients/examples.test.ts",
  "test/clients/python/killed.test.ts",
  "test/files/contract.qemu.test.ts",
  "test/clients/typescript/killed.test.ts",
  "test/console/pages/sandbox/files/files.test.ts",
  "test/console/pages/commands.test.ts",
  "test/console/pages/sandbox/terminal/terminal.test.ts",
  "test/files/contract.namespace.test.ts",
  "test/console/pages/parts.test.ts",
  "test/crash/feed.test.ts",
  "test/console/pages/timeline.test.ts",
  "test/fleet/hosts.test.ts",
  "test/cooperative/openssh.test.ts",
  "test/host/qemu/fullDisk.test.ts",
  "test/preview/echo.test.ts",
  "test/flood/flood.test.ts",
  "test/postgres/EmbeddedPostgres.test.ts",
  "test/clients/python/versions.test.ts",
  "test/clients/engines/engines.test.ts",
  "test/clients/python/library.test.ts",
  "test/store/DerivedColumns.test.ts",
  "test/clients/python/package.test.ts"
]

/** A process does many of these files, one after the other, for to load the service is most of their work. */
const sharing = new Set([
  "account",
  "actor",
  "agent",
  "analytics",
  "backup",
  "bundle",
  "clients/typescript",
  "console/server",
  "cooperative",
  "dataFolder",
  "deploy",
  "doctor",
  "events",
  "files",
  "gateway",
  "host/door",
  "host/linux",
  "host/namespace",
  "host/qemu",
  "http",
  "idempotency",
  "identifier",
  "logs",
  "machines",
  "mcp",
  "operation",
  "peer",
  "preview",
  "retention",
  "runtime/agentClient",
  "runtime/distant",
  "sandbox",
  "schemas",
  "serviceAccess",
  "statechart",
  "store",
  "terminal",
  "trace",
  "wallet",
  "worker"
])

/** Who looks at pages shares more than the service: the browser of the process. */
const isOfPages = (file: string): boolean => file.startsWith("test/console/pages/")

/** They look at what there is one of in a process: its metrics, its memory. */
const ofOwn = new Set([
  "test/agent/agentRelay.test.ts",
  "test/agent/slowReaders.test.ts",
  "test/files/archive.test.ts",
  "test/files/archiveCalls.test.ts",
  "test/files/content.test.ts",
  "test/host/namespace/isolation.test.ts",
  "test/http/events.test.ts",
  "test/http/metrics.test.ts",
  "test/http/watching.test.ts",
  "test/runtime/agentClient/smallReads.test.ts",
  "test/runtime/distant/broken.test.ts",
  "test/terminal/namespace.test.ts",
  "test/wallet/metrics.test.ts"
])

const placeOf = (file: string): number => {
  const at = long.findIndex((name) => file.endsWith(name))
  return at === -1 ? long.length : at
}

/** What takes long has a process of its own, which costs it little: who begins it first must not have to begin another one for it. */
const isShared = (file: string): boolean =>
  isOfPages(file) || (!ofOwn.has(file) && !long.includes(file) && sharing.has(dirname(file).slice("test/".length)))

/** Those that share come last, and together: a process that others share ends when the next file wants one of its own. */
class LongestFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const place = ({ project }: TestSpecification) => Number(!project.config.isolate)
    return (await super.sort(files)).sort((a, b) => place(a) - place(b) || placeOf(a.moduleId) - placeOf(b.moduleId))
  }
}

const processors = availableParallelism()
/** The largest have a browser, or machines, beside a service. */
const bytesOfOne = 2 * 1024 ** 3

/** More than processors: a third of what a worker does is to wait, for machines that boot, leases that end, pages that load. */
const workers = Math.max(1, Math.min(processors + Math.ceil(processors / 2), Math.floor(totalmem() / bytesOfOne)))

const ofAll: ViteUserConfig["test"] = {
  setupFiles: "test/described/watch.ts",
  pool: "forks",
  maxWorkers: workers,
  // Patience, not a promise: shared machines are slow at times, and no test measures speed.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  teardownTimeout: 60_000,
  // As Node loads them everywhere else, from what it has compiled before: of Vite nothing is asked.
  experimental: { viteModuleRunner: false, nodeLoader: false }
}
const files = globSync("test/**/*.test.ts", { cwd: import.meta.dirname })

export default defineConfig({
  test: {
    globalSetup: ["test/support/BundledPrograms.ts", "test/support/TestPostgres.ts", "test/described/describe.ts"],
    maxWorkers: workers,
    sequence: { sequencer: LongestFirst },
    projects: [
      { test: { ...ofAll, name: "alone", include: files.filter((file) => !isShared(file)) } },
      { test: { ...ofAll, name: "shared", include: files.filter(isShared), isolate: false } }
    ]
  }
})
