import { closeSync, globSync, openSync, readSync } from "node:fs"
import { availableParallelism, totalmem } from "node:os"
import { join } from "node:path"
import { defineConfig, type ViteUserConfig } from "vitest/config"
import { BaseSequencer, type TestSpecification } from "vitest/node"

const root = import.meta.dirname
const filesOf = (folder: string) => globSync(`test/${folder}/**/*.test.ts`, { cwd: root })

const firstBytes = (file: string): string => {
  const descriptor = openSync(join(root, file), "r")
  try {
    const bytes = Buffer.alloc(64)
    return bytes.toString("utf8", 0, readSync(descriptor, bytes))
  } finally {
    closeSync(descriptor)
  }
}

/** A file says on its first line that it needs a process without other files, and why: it reads metrics or memory, of which a process has one. */
const needsOwnProcess = (file: string): boolean => firstBytes(file).startsWith("/** Own process: ")

const units = filesOf("unit")
const services = filesOf("service")
/** A process runs many of these files, one after the other: to load the service is most of their work. */
const sharing = (files: ReadonlyArray<string>) => files.filter((file) => !needsOwnProcess(file))
/** Each has a process that it may load, fill, signal and end. */
const alone = [...units, ...services].filter(needsOwnProcess).concat(filesOf("system"))
/** The files about pages share the browser of their process. */
const isAboutPages = (file: string): boolean => file.startsWith("test/system/console/pages/")

/** Folders whose files take minutes: begun last, one of them would run alone at the end. */
const longest = ["test/system/race/", "test/system/fleet/", "test/system/host/qemu/"]

/** A shared process ends when the next file wants its own, so those come first; of these, the longest. */
class OwnProcessesFirst extends BaseSequencer {
  override async sort(files: Array<TestSpecification>) {
    const place = ({ project, moduleId }: TestSpecification) =>
      longest.some((folder) => moduleId.includes(folder)) ? -1 : Number(!project.config.isolate)
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

const processors = availableParallelism()
/** The largest have a browser, or machines, beside a service. */
const bytesOfOne = 2 * 1024 ** 3

/** With three workers on two processors nine files took 257 s together, with two 258; each took 1.5 times as long with three, and some were late. */
const workers = Math.max(1, Math.min(processors, Math.floor(totalmem() / bytesOfOne)))

const watch = "test/support/described/watch.ts"

/** Patience, not a promise: shared machines are slow at times, and no test measures speed. */
const patienceMs = { small: 30_000, system: 120_000 }

const ofAll: ViteUserConfig["test"] = {
  setupFiles: watch,
  pool: "forks",
  maxWorkers: workers,
  hookTimeout: 120_000,
  teardownTimeout: 60_000,
  // As Node loads them everywhere else, from what it has compiled before: of Vite nothing is asked.
  experimental: { viteModuleRunner: false, nodeLoader: false }
}

export default defineConfig({
  test: {
    globalSetup: [
      "test/support/BundledPrograms.ts",
      "test/support/TestPostgres.ts",
      "test/support/described/describe.ts"
    ],
    maxWorkers: workers,
    sequence: { sequencer: OwnProcessesFirst },
    projects: [
      {
        test: {
          ...ofAll,
          name: "unit",
          include: sharing(units),
          isolate: false,
          testTimeout: patienceMs.small,
          setupFiles: ["test/support/noProcesses.ts", watch]
        }
      },
      {
        test: {
          ...ofAll,
          name: "service",
          include: sharing(services),
          isolate: false,
          testTimeout: patienceMs.small
        }
      },
      {
        test: {
          ...ofAll,
          name: "alone",
          include: alone.filter((file) => !isAboutPages(file)),
          testTimeout: patienceMs.system
        }
      },
      {
        test: {
          ...ofAll,
          name: "pages",
          include: alone.filter(isAboutPages),
          isolate: false,
          testTimeout: patienceMs.system
        }
      }
    ]
  }
})
