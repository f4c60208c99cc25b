/** A Vite dev server in a real Sandbox, seen in real Chromium through its preview, all of it done over the HTTP API. */
import { execFileSync, spawn } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { readFileSync, realpathSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { describe } from "vitest"
import { newSecret } from "../../src/account/ApiKeySecret.ts"
import { PublicPort } from "../../src/gateway/PublicPort.ts"
import { ApiServer } from "../../src/http/ApiServer.ts"
import { Listener } from "../../src/http/Listener.ts"
import { Runtime } from "../../src/runtime/Runtime.ts"
import { skipped, unusable } from "../host/namespace/TestHost.ts"
import { Chromium } from "../support/Chromium.ts"
import { namespaceAtoll } from "../support/NamespaceAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testSettings } from "../support/TestSettings.ts"

const missing = ((): string | null => {
  if (unusable !== null) return unusable
  try {
    execFileSync("which", ["chromium"], { stdio: "ignore" })
    return null
  } catch {
    return "chromium is not installed (Debian package chromium)"
  }
})()

const root = join(import.meta.dirname, "../..")

/** The packages that one needs, as folders below the repository. */
const packagesOf = (name: string, from: string, found = new Set<string>()): Set<string> => {
  let manifest: string
  try {
    manifest = createRequire(join(from, "x.js")).resolve(`${name}/package.json`)
  } catch {
    // Not for this platform, or without an export of its manifest.
    manifest = join(root, "node_modules", name, "package.json")
  }
  try {
    const folder = dirname(realpathSync(manifest))
    if (found.has(folder)) return found
    found.add(folder)
    const { dependencies, optionalDependencies } = JSON.parse(readFileSync(manifest, "utf8"))
    for (const other of Object.keys({ ...dependencies, ...optionalDependencies })) packagesOf(other, folder, found)
  } catch {
    // An optional one that is not here.
  }
  return found
}

const key = newSecret()

/** The API and previews on one port, as they are served. */
const service = ApiServer.layer.pipe(
  Layer.provideMerge(Listener.layer),
  Layer.provide(testSettings({ ATOLL_PORT: "0", ATOLL_BOOTSTRAP_API_KEY: key })),
  Layer.provideMerge(namespaceAtoll()),
  Layer.provideMerge(TestDatabase.layer)
)

const source = (text: string) => `document.querySelector("#app").textContent = ${JSON.stringify(text)}
if (import.meta.hot) import.meta.hot.accept()
`

const until = (look: () => Promise<unknown>, expected: unknown) =>
  Effect.promise(async () => {
    const end = Date.now() + 30_000
    let seen = await look()
    while (seen !== expected && Date.now() < end) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      seen = await look()
    }
    assert.strictEqual(seen, expected)
  })

describe.skipIf(skipped(missing))("a development server in a preview", () => {
  layer(service, { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect(
      "is seen in Chromium, and an edit through the files API is hot-replaced in the page",
      () =>
        Effect.gen(function* () {
          const port = (yield* PublicPort).current()
          /** The answer's body as JSON; anything but `expected` fails the test. */
          const ask = (method: string, path: string, expected: number, body?: unknown) =>
            Effect.promise(async () => {
              const answer = await fetch(`http://127.0.0.1:${port}/api/v2${path}`, {
                method,
                headers: {
                  authorization: `Bearer ${key}`,
                  "content-type": typeof body === "string" ? "application/octet-stream" : "application/json",
                  "idempotency-key": randomBytes(8).toString("hex")
                },
                ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) })
              })
              const text = await answer.text()
              assert.strictEqual(answer.status, expected, text)
              return text === "" ? null : JSON.parse(text)
            })
          const { workspace } = yield* ask("POST", "/workspaces", 201, { name: "vite" })
          const { sandbox } = yield* ask("POST", "/sandboxes", 202, { workspaceId: workspace.id })
          const at = `/sandboxes/${sandbox.id}`
          const isRunning = () => Effect.runPromise(Effect.map(ask("GET", at, 200), (it) => it.sandbox.status))
          yield* until(isRunning, "running")
          const content = (path: string) => `${at}/files/content?path=/workspace/${path}`

          // The page waits for the server: it loads itself again until there is one.
          const { preview } = yield* ask("POST", `${at}/previews`, 201, { port: 5173 })
          const browser = yield* Chromium.scoped
          const evaluate = yield* Effect.promise(() => browser.open(preview.url))
          yield* until(() => evaluate("document.title"), "Nothing listens yet")

          // Thousands of files: no customer would send them one by one, nor install them while a test runs.
          const { processes } = yield* (yield* Runtime).guest(sandbox.id, 1)
          const unpack = yield* processes.open({
            argv: ["tar", "xf", "-"],
            cwd: "/workspace",
            env: {},
            terminal: null,
            purpose: "ssh"
          })
          const packages = [...packagesOf("vite", root)].map((folder) => relative(root, folder))
          const tar = spawn("tar", ["cf", "-", ...packages], { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
          yield* Stream.runForEach(
            Stream.fromAsyncIterable(tar.stdout as AsyncIterable<Buffer>, (cause) => cause).pipe(Stream.orDie),
            unpack.write
          )
          yield* unpack.end
          yield* Stream.runDrain(unpack.frames)

          const page = '<title>app</title><div id="app"></div><script type="module" src="/main.js"></script>'
          yield* ask("PUT", content("index.html"), 204, page)
          yield* ask("PUT", content("main.js"), 204, source("one"))
          yield* ask("POST", `${at}/operations`, 202, {
            argv: ["/opt/atoll/node", "node_modules/vite/bin/vite.js", "--port", "5173", "--host", "127.0.0.1"]
          })
          yield* until(() => evaluate("document.querySelector('#app')?.textContent"), "one")
          yield* Effect.promise(() => evaluate("window.before = 1"))
          yield* ask("PATCH", content("main.js"), 200, {
            expectedSha256: createHash("sha256").update(source("one")).digest("hex"),
            oldText: '"one"',
            newText: '"two"'
          })
          yield* until(() => evaluate("document.querySelector('#app')?.textContent"), "two")
          yield* ask("PUT", content("main.js"), 204, source("three"))
          yield* until(() => evaluate("document.querySelector('#app')?.textContent"), "three")
          // Replaced in the page that was there, not loaded anew.
          assert.strictEqual(yield* Effect.promise(() => evaluate("window.before")), 1)
          assert.strictEqual(yield* Effect.promise(() => evaluate("location.port")), String(port))
        }).pipe(Effect.scoped),
      90_000
    )
  })
})
