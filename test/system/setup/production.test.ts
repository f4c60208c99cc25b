/** Atoll as `npm ci --omit=dev` installs it, which the Dockerfile does. */
import { spawn } from "node:child_process"
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { testFolder } from "../../support/testFolder.ts"

const root = join(import.meta.dirname, "../../..")

const lock: { readonly packages: Readonly<Record<string, { readonly dev?: boolean }>> } = JSON.parse(
  readFileSync(join(root, "package-lock.json"), "utf8")
)

/** The sources, and only those packages that are no development dependencies. */
const production = Effect.map(testFolder, (folder) => {
  for (const name of ["src", "schemas", "machines", "docs", "package.json"])
    symlinkSync(join(root, name), join(folder, name))
  for (const [path, { dev }] of Object.entries(lock.packages)) {
    if (dev === true || !/^node_modules\/(@[^/]+\/)?[^/]+$/.test(path)) continue
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    symlinkSync(join(root, path), join(folder, path))
  }
  return folder
})

/** How a program of it ends. */
const ending = (folder: string, program: string, args: ReadonlyArray<string>, env: NodeJS.ProcessEnv = {}) =>
  Effect.promise(
    () =>
      new Promise<{ readonly code: number | null; readonly said: string }>((resolve, reject) => {
        const symlinks = ["--preserve-symlinks", "--preserve-symlinks-main"]
        const child = spawn(process.execPath, [...symlinks, join(folder, program), ...args], {
          env: { PATH: process.env["PATH"], ...env },
          stdio: ["ignore", "pipe", "pipe"]
        })
        let said = ""
        for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk))
        child.on("error", reject)
        child.on("close", (code) => resolve({ code, said }))
      })
  )

it.live("the service and its command line load without development dependencies", () =>
  Effect.gen(function* () {
    const folder = yield* production
    // Modules that are loaded on demand.
    writeFileSync(join(folder, "later.mjs"), 'await import("@modelcontextprotocol/server")')
    // As far as its settings: by then every other module was loaded.
    const [service, commandLine, later] = yield* Effect.all(
      [
        ending(folder, "src/main.mjs", [], { ATOLL_PORT: "70000" }),
        ending(folder, "src/cli/main.ts", ["--help"]),
        ending(folder, "later.mjs", [])
      ],
      { concurrency: 2 }
    )
    assert.strictEqual(service.code, 78, service.said)
    assert.include(service.said, "ATOLL_PORT")
    assert.strictEqual(commandLine.code, 0, commandLine.said)
    assert.strictEqual(later.code, 0, later.said)
  })
)
