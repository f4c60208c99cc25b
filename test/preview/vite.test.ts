/** A Vite dev server in a real Sandbox, seen in real Chromium through its preview, edited through the guest's files. */
import { execFileSync, spawn } from "node:child_process"
import { readFileSync, realpathSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { describe } from "vitest"
import { PreviewGateway } from "../../src/preview/PreviewGateway.ts"
import { Previews } from "../../src/preview/Previews.ts"
import { Runtime } from "../../src/runtime/Runtime.ts"
import { skipped, unusable } from "../runtime/namespace/TestHost.ts"
import { Chromium } from "../support/Chromium.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../support/GatewayServer.ts"
import { namespaceAtoll } from "../support/NamespaceAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { upload } from "../support/upload.ts"

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
  layer(namespaceAtoll().pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true, timeout: 60_000 })(
    (it) => {
      it.effect(
        "is seen in Chromium, and a change of a file is hot-replaced in the page",
        () =>
          Effect.gen(function* () {
            const port = yield* serveGateways([yield* PreviewGateway])
            const { accountId, sandboxId } = yield* runningSandboxOf()
            const runtime = yield* Runtime
            const { processes, files } = yield* runtime.guest(sandboxId, 1)
            const write = (path: string, text: string) =>
              files.write(`/workspace/${path}`, upload([new TextEncoder().encode(text)]))

            // The page waits for the server: it loads itself again until there is one.
            const previews = yield* Previews
            const preview = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 5173 })
            const browser = yield* Chromium.scoped
            const evaluate = yield* Effect.promise(() => browser.open(preview.url))
            yield* until(() => evaluate("document.title"), "Nothing listens yet")

            const unpack = yield* processes.open({
              argv: ["tar", "xf", "-"],
              cwd: "/workspace",
              env: {},
              terminal: null
            })
            const packages = [...packagesOf("vite", root)].map((folder) => relative(root, folder))
            const tar = spawn("tar", ["cf", "-", ...packages], { cwd: root, stdio: ["ignore", "pipe", "inherit"] })
            yield* Stream.runForEach(
              Stream.fromAsyncIterable(tar.stdout as AsyncIterable<Buffer>, (cause) => cause).pipe(Stream.orDie),
              unpack.write
            )
            yield* unpack.end
            yield* Stream.runDrain(unpack.frames)
            yield* write(
              "index.html",
              '<title>app</title><div id="app"></div><script type="module" src="/main.js"></script>'
            )
            yield* write("main.js", source("one"))
            yield* processes.start("vite", {
              argv: ["/opt/atoll/node", "node_modules/vite/bin/vite.js", "--port", "5173", "--host", "127.0.0.1"],
              cwd: "/workspace",
              env: {},
              stdin: null,
              timeoutMs: null,
              output: { mode: "head", bytes: 1_000_000 }
            })
            yield* until(() => evaluate("document.querySelector('#app')?.textContent"), "one")
            yield* Effect.promise(() => evaluate("window.before = 1"))
            yield* write("main.js", source("two"))
            yield* until(() => evaluate("document.querySelector('#app')?.textContent"), "two")
            // Replaced in the page that was there, not loaded anew.
            assert.strictEqual(yield* Effect.promise(() => evaluate("window.before")), 1)
            assert.strictEqual(yield* Effect.promise(() => evaluate("location.port")), String(port))
          }).pipe(Effect.scoped),
        90_000
      )
    }
  )
})
