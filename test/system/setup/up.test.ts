/** What a person sees who starts Atoll for the first time, and again. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { compiledOnce } from "../../support/compiledOnce.ts"
import { Browser } from "../../support/console/server/Browser.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testFolder } from "../../support/testFolder.ts"

const script = join(import.meta.dirname, "../../../scripts/up.mjs")

/** Returns its output until it shows how it is stopped; it runs until the scope closes. */
const up = (url: string, dataDir: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const child = spawn(process.execPath, [script], {
          env: {
            PATH: process.env["PATH"],
            ...compiledOnce,
            ATOLL_RUNTIME: "simulated",
            ATOLL_PORT: "0",
            ATOLL_DATA_DIR: dataDir,
            DATABASE_URL: url
          },
          stdio: ["ignore", "pipe", "pipe"]
        })
        let said = ""
        await new Promise<void>((resolve, reject) => {
          for (const stream of [child.stdout, child.stderr]) {
            stream.on("data", (chunk) => {
              said += chunk
              if (said.includes("Ctrl-C stops Atoll")) resolve()
            })
          }
          child.once("exit", () => reject(new Error(`It ended: ${said}`)))
        })
        return { child, said }
      }),
      ({ child }) =>
        Effect.promise(async () => {
          const ended = once(child, "exit")
          child.kill("SIGTERM")
          await ended
        })
    ),
    ({ said }) => said
  )

it.live("npm run up prints a link that signs in once, and how to get another", () =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const dataDir = yield* testFolder
    yield* Effect.scoped(
      Effect.gen(function* () {
        const said = yield* up(url, dataDir)
        const [, port, code] = /^ {4}http:\/\/127\.0\.0\.1:(\d+)\/console\/#link=([\w-]{43})$/m.exec(said) ?? []
        assert.isDefined(code, said)
        assert.match(said, /^ {4}KEY=atoll_live_\w{43}$/m)
        const enter = () => Effect.promise(() => new Browser(Number(port)).console("POST", "/sign-in-link", { code }))
        const { status, json } = yield* enter()
        assert.deepStrictEqual([status, json.session?.account.name], [200, "default"])
        assert.strictEqual((yield* enter()).status, 401)
      })
    )
    const again = yield* up(url, dataDir)
    assert.notInclude(again, "#link=")
    assert.notInclude(again, "atoll_live_")
    assert.include(again, "/console/; a link that signs in once: npm run --silent atoll -- accounts recover default")
  }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare))
)
