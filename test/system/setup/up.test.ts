/** What somebody sees who starts Atoll for the first time, and again. */
import { execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, rmSync, statSync } from "node:fs"
import { dirname, join } from "node:path"
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

const root = join(import.meta.dirname, "../../..")

/** A line that `npm run up` prints, typed in bash. */
const typed = (environment: NodeJS.ProcessEnv, ...lines: ReadonlyArray<string>) =>
  Effect.promise(
    () =>
      new Promise<{ readonly code: number | null; readonly stdout: string; readonly stderr: string }>((done) => {
        const child = execFile(
          "bash",
          ["--norc", "-c", lines.join("\n")],
          { cwd: root, env: { ...environment, PATH: `${dirname(process.execPath)}:${process.env["PATH"]}` } },
          (_, stdout, stderr) => done({ code: child.exitCode, stdout, stderr })
        )
      })
  )

it.live("npm run up logs the folder's command line in, and prints how to have the key again", () =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const dataDir = yield* testFolder
    // The lines are complete: a shell of its user does not have the folder's setting.
    const environment = { ...compiledOnce }
    const begin = `atoll() { ATOLL_DATA_DIR=\${ATOLL_DATA_DIR:-'${dataDir}'} npm run --silent atoll -- "$@"; }`
    const lineOf = (said: string, start: RegExp): string =>
      said
        .split("\n")
        .find((line) => start.test(line))!
        .trim()
    const [firstKey, id] = yield* Effect.scoped(
      Effect.gen(function* () {
        const said = yield* up(url, dataDir)
        // Through a pipe, too, the log is for people.
        assert.match(said, /^\d\d:\d\d:\d\d Atoll serves http/m)
        assert.match(said, /^Starting Atoll …$/m)
        assert.strictEqual(lineOf(said, /^ {4}atoll\(\)/), begin)
        assert.strictEqual(statSync(join(dataDir, "credentials.json")).mode & 0o777, 0o600)
        const key = lineOf(said, /^ {4}KEY=/)
        const create = lineOf(said, /^ {4}SBX=/)
        const made = yield* typed(environment, begin, key, create)
        assert.deepStrictEqual([made.code, made.stderr], [0, ""])
        assert.match(made.stdout, /^sbx_\w{26}\n$/)
        const wrong = yield* typed({ ...environment, ATOLL_API_KEY: "atoll_live_wrong" }, begin, create)
        assert.match(wrong.stderr, /does not take this API key/)
        const imported = lineOf(said, /^ {4}import/)
        assert.isTrue(existsSync(/"(.*)"/.exec(imported)![1]!))
        return [key.replace("KEY=", ""), made.stdout.trim()] as const
      })
    )
    const again = yield* up(url, dataDir)
    assert.strictEqual(lineOf(again, /^ {4}KEY=/), "KEY=$(atoll whoami --key)")
    const had = yield* typed(environment, begin, lineOf(again, /^ {4}KEY=/), 'echo "$KEY"', `atoll sandbox show ${id}`)
    assert.strictEqual(had.stdout.split("\n")[0], firstKey)
    assert.include(had.stdout, id)
  }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare))
)

it.live("npm run up prints how to make another key where the first one is not stored", () =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const dataDir = join(yield* testFolder, 'of {a} "$HOME"')
    yield* Effect.scoped(up(url, dataDir))
    rmSync(join(dataDir, "credentials.json"))
    const said = yield* up(url, dataDir)
    const line = said.split("\n").find((one) => one.startsWith("    KEY="))!
    assert.match(line, /^ {4}KEY=\$\(atoll keys create .*\); echo "\$KEY" \| atoll login http:\/\/127\.0\.0\.1:\d+$/)
    const environment = { DATABASE_URL: url, ...compiledOnce }
    const begin = `atoll() { ATOLL_DATA_DIR=\${ATOLL_DATA_DIR:-'${dataDir}'} npm run --silent atoll -- "$@"; }`
    assert.include(said, begin)
    const made = yield* typed(environment, begin, line, "atoll whoami")
    assert.strictEqual(made.code, 0, made.stderr)
    assert.match(made.stdout, /^account +default /m)
    assert.isTrue(existsSync(join(dataDir, "credentials.json")))
  }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare))
)

it.live("npm run up prints a link that signs in once, and how to have another", () =>
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
    const recover = `ATOLL_DATA_DIR=\${ATOLL_DATA_DIR:-'${dataDir}'} npm run --silent atoll -- accounts recover default`
    assert.include(again, `/console/; a link that signs in once: ${recover}`)
  }).pipe(Effect.scoped, Effect.provide(TestDatabase.bare))
)

it.live("npm run up takes no options, and explains itself without starting anything", () =>
  Effect.gen(function* () {
    const node = `'${process.execPath}' '${script}'`
    const asked = yield* typed({}, `${node} --help`)
    assert.strictEqual(asked.code, 0)
    assert.match(asked.stderr, /^npm run up installs what is missing and starts Atoll/)
    const unknown = yield* typed({}, `${node} --port=1`)
    assert.strictEqual(unknown.code, 2)
    assert.match(unknown.stderr, /^Unknown option --port=1\. /)
  })
)
