/**
 * From `npm start` to the first answer of GET /readyz, beside `npm start` of an empty `node:http` server: what npm and Node take
 * themselves. The data folder and the caches are warm; the first start of a fresh folder is told apart.
 */
import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { chmod, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { get } from "node:http"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { freePort } from "../test/support/freePort.ts"
import { newKey, quantile } from "./BenchService.ts"
import { headline } from "./Headline.ts"
import { inRounds } from "./Rounds.ts"

const times = Number(process.env["BENCH_TIMES"] ?? 10)
/** The folder of the version that is started. */
const sources = process.env["BENCH_SOURCES"] ?? join(import.meta.dirname, "..")
const runtime = process.env["BENCH_RUNTIME"] ?? "namespace"
const lookEveryMs = 5
const giveUpMs = 120_000

const answers = (url: string): Promise<boolean> =>
  new Promise((resolve) => {
    get(url, { agent: false }, (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    }).once("error", () => resolve(false))
  })

/** npm passes a signal on to what it runs. */
const stop = async (child: ChildProcess): Promise<void> => {
  const ended = once(child, "exit")
  child.kill("SIGTERM")
  await ended
}

/** Milliseconds to the first answer with 200. */
const started = async (cwd: string, path: string, environment: Readonly<Record<string, string>>): Promise<number> => {
  const port = await freePort()
  const began = performance.now()
  const child = spawn("npm", ["start", "--silent"], {
    cwd,
    // The Node of this bench, in place of the system's.
    env: {
      ...process.env,
      PATH: `${dirname(process.execPath)}:${process.env["PATH"]}`,
      ...environment,
      ATOLL_PORT: String(port)
    },
    stdio: ["ignore", "ignore", "inherit"]
  })
  while (!(await answers(`http://127.0.0.1:${port}${path}`))) {
    if (child.exitCode !== null) throw new Error(`npm start ended with ${child.exitCode}`)
    if (performance.now() - began > giveUpMs) throw new Error("no answer")
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
  }
  const took = performance.now() - began
  await stop(child)
  return took
}

const emptyServer = `require("node:http").createServer((_, answer) => answer.end()).listen(process.env.ATOLL_PORT, "127.0.0.1")`

const folder = await mkdtemp(join(tmpdir(), "atoll-bench-"))
await chmod(folder, 0o711)
try {
  const empty = join(folder, "empty")
  await mkdir(empty)
  await writeFile(join(empty, "server.cjs"), emptyServer)
  await writeFile(join(empty, "package.json"), JSON.stringify({ scripts: { start: "exec node server.cjs" } }))
  const environment = {
    ATOLL_DATA_DIR: join(folder, "data"),
    ATOLL_RUNTIME: runtime,
    ATOLL_BOOTSTRAP_API_KEY: newKey(),
    ATOLL_LOG_LEVEL: "warn"
  }
  const first = await started(sources, "/readyz", environment)
  // A service that runs for a while has this done.
  const maker = join(sources, "src/platform/quickStart/makeProgramFiles.ts")
  if (existsSync(maker)) execFileSync(process.execPath, [maker])
  await started(sources, "/readyz", environment)
  const ours: Array<number> = []
  const theirs: Array<number> = []
  for (let index = 0; index < times; index++) {
    ours.push(await started(sources, "/readyz", environment))
    theirs.push(await started(empty, "/", {}))
  }
  const row = (values: ReadonlyArray<number>) => ({
    "p50 ms": Math.round(quantile(values, 0.5)),
    "least ms": Math.round(Math.min(...values)),
    "most ms": Math.round(Math.max(...values))
  })
  console.table({ "npm start of the service, warm": row(ours), "npm start of an empty server": row(theirs) })
  headline({
    name: "npm start to the first answer, warm",
    unit: "ms",
    better: "lower",
    values: inRounds(ours),
    other: { name: "npm start of an empty server", values: inRounds(theirs) },
    aim: { value: 1200 }
  })
  console.log(`first start of a fresh data folder: ${Math.round(first)} ms`)
} finally {
  await rm(folder, { recursive: true, force: true })
}
