/** The service as a process of its own, with the command line beside it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import { sendTo } from "../http/TestApi.ts"
import { atollWith } from "./commandLine.ts"

const main = join(import.meta.dirname, "../../src/main.ts")

/**
 * A data folder of its own, with an embedded database and real Sandboxes; at the end all of it is gone.
 *
 * @param key The first account's full-scope key.
 */
export const serviceIn = Effect.fnUntraced(function* (dataDir: string, key: string) {
  const environment = {
    ATOLL_DATA_DIR: dataDir,
    ATOLL_RUNTIME: "namespace",
    ATOLL_PORT: "0",
    ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
    ATOLL_BOOTSTRAP_API_KEY: key
  }
  const children = new Set<ChildProcess>()
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      for (const child of children) child.kill("SIGKILL")
      if (existsSync(dataDir)) yield* atollWith(environment, "down", "--purge", "--yes")
    })
  )
  const start = Effect.promise(async () => {
    let said = ""
    const child = spawn(process.execPath, [main], {
      env: { PATH: process.env["PATH"], ...environment },
      stdio: ["ignore", "pipe", "pipe", "ipc"]
    })
    children.add(child)
    for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (said += chunk))
    const [{ ready }] = (await once(child, "message")) as [{ readonly ready: string }]
    return { child, said: () => said, send: sendTo(Number(new URL(ready).port), key) }
  })
  return { start, atoll: (...words: ReadonlyArray<string>) => atollWith(environment, ...words) }
})
