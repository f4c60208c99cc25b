/** The service as a separate process, with the command line beside it. */
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import { bundledOnce } from "./bundledOnce.ts"
import { atollWith } from "./commandLine.ts"
import { isOtherVersion } from "./described/otherVersions.ts"
import { sendTo } from "./http/TestApi.ts"

const ownSources = join(import.meta.dirname, "../..")

/**
 * A new data folder, with an embedded database (unless `more` names another one) and real Sandboxes; at the end all of
 * it is removed.
 * @param key The first account's full-scope key.
 * @param more Settings beside those of every test.
 */
export const serviceIn = Effect.fnUntraced(function* (
  dataDir: string,
  key: string,
  more: Readonly<Record<string, string>> = {}
) {
  const environment = {
    ATOLL_DATA_DIR: dataDir,
    ATOLL_RUNTIME: "namespace",
    ATOLL_PORT: "0",
    ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
    ATOLL_BOOTSTRAP_API_KEY: key,
    ...more
  }
  const children = new Set<ChildProcess>()
  yield* Effect.addFinalizer(() =>
    Effect.gen(function* () {
      for (const child of children) child.kill("SIGKILL")
      if (!existsSync(dataDir)) return
      const { code, stderr } = yield* atollWith(environment, "down", "--purge", "--yes")
      // What is left would be in the way of later tests.
      assert.strictEqual(code, 0, stderr)
    })
  )
  /** @param sources The folder of the version that is started. */
  const startFrom = (sources: string) =>
    Effect.promise(async () => {
      let said = ""
      const child = spawn(process.execPath, [join(sources, "src/main.ts")], {
        env: { PATH: process.env["PATH"], ...bundledOnce, ...environment },
        stdio: ["ignore", "pipe", "pipe", "ipc"]
      })
      children.add(child)
      for (const stream of [child.stdout!, child.stderr!]) stream.on("data", (chunk) => (said += chunk))
      const [{ ready }] = await Promise.race([
        once(child, "message") as Promise<[{ readonly ready: string }]>,
        once(child, "exit").then(([code]) => Promise.reject(new Error(`It ended with ${code}: ${said}`)))
      ])
      const port = Number(new URL(ready).port)
      if (sources !== ownSources) isOtherVersion(port)
      return { child, port, said: () => said, send: sendTo(port, key) }
    })
  return {
    start: startFrom(ownSources),
    startFrom,
    atoll: (...words: ReadonlyArray<string>) => atollWith(environment, ...words)
  }
})
