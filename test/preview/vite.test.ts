/** A Vite dev server in a real Sandbox, seen in real Chromium through its preview, all of it done over the HTTP API. */
import { spawn } from "node:child_process"
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
import { noChromium, testBrowser } from "../console/pages/TestBrowser.ts"
import { skipped, unusable } from "../host/namespace/TestHost.ts"
import { namespaceAtoll } from "../support/NamespaceAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testSettings } from "../support/TestSettings.ts"

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

describe.skipIf(skipped(unusable ?? noChromium))("a development server in a preview", () => {
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
          const { sandbox } = yield* ask("POST", "/sandboxes?wait=running", 201, { workspaceId: workspace.id })
          const at = `/sandboxes/${sandbox.id}`
          assert.strictEqual(sandbox.status, "running")
          const content = (path: string) => `${at}/files/content?path=/workspace/${path}`

          // The page waits for the server: it loads itself again until there is one.
          const { preview } = yield* ask("POST", `${at}/previews`, 201, { port: 5173 })
          const { page } = yield* (yield* testBrowser).open(new URL(preview.url).origin)
          yield* Effect.promise(() => page.goto(preview.url))
          const has = (selector: string, text: string) =>
            Effect.promise(() => page.locator(selector).filter({ hasText: text }).waitFor())
          yield* has("h1", "Nothing listens yet")

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

          const index = '<title>app</title><div id="app"></div><script type="module" src="/main.js"></script>'
          yield* ask("PUT", content("index.html"), 204, index)
          yield* ask("PUT", content("main.js"), 204, source("one"))
          yield* ask("POST", `${at}/operations`, 202, {
            argv: ["/opt/atoll/node", "node_modules/vite/bin/vite.js", "--port", "5173", "--host", "127.0.0.1"]
          })
          yield* has("#app", "one")
          yield* Effect.promise(() => page.evaluate("window.before = 1"))
          yield* ask("PATCH", content("main.js"), 200, {
            expectedSha256: createHash("sha256").update(source("one")).digest("hex"),
            oldText: '"one"',
            newText: '"two"'
          })
          yield* has("#app", "two")
          yield* ask("PUT", content("main.js"), 204, source("three"))
          yield* has("#app", "three")
          // Replaced in the page that was there, not loaded anew.
          assert.strictEqual(yield* Effect.promise(() => page.evaluate("window.before")), 1)
          assert.strictEqual(new URL(page.url()).port, String(port))
        }).pipe(Effect.scoped),
      90_000
    )
  })
})
