/** A Vite dev server in a real Sandbox, viewed in real Chromium through its preview, driven over the HTTP API alone. */
import { createHash } from "node:crypto"
import { readFileSync, realpathSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join, relative } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../../support/SandboxCalls.ts"
import { ServedAtoll } from "../../../support/ServedAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const root = join(import.meta.dirname, "../../../..")

/** The packages that Vite needs, as folders below the repository. */
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
    // An optional package that is not installed.
  }
  return found
}

const settings = {
  ATOLL_VOLUME_BYTES: String(256 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2)
}

const service = ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer))

const source = (text: string) => `document.querySelector("#app").textContent = ${JSON.stringify(text)}
if (import.meta.hot) import.meta.hot.accept()
`

const server = ["node_modules/vite/bin/vite.js", "--port", "5173", "--host", "127.0.0.1"]

describe.skipIf(skipped(unusable ?? noChromium))("a development server in a preview", () => {
  layer(service, { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect("is shown in Chromium, and an edit through the files API is hot-replaced in the page", () =>
      Effect.gen(function* () {
        const atoll = yield* ServedAtoll
        const browser = yield* testBrowser
        const { ask, contentOf, start, unpack, write } = yield* Effect.promise(() =>
          newSandboxOf(atoll, { networkEnabled: true })
        )
        const { preview } = yield* Effect.promise(() => ask("POST", "/previews", 201, { port: 5173 }))
        const { page } = yield* browser.open(new URL(preview.url).origin)
        const has = (selector: string, text: string) => page.locator(selector).filter({ hasText: text }).waitFor()
        yield* Effect.promise(async () => {
          // The page waits for the server: it reloads itself until the server answers.
          await page.goto(preview.url)
          await has("h1", "Nothing listens yet")

          // Thousands of files: no customer would send them one by one, or install them while a test runs.
          await unpack(
            root,
            [...packagesOf("vite", root)].map((folder) => relative(root, folder))
          )
          const index = '<title>app</title><div id="app"></div><script type="module" src="/main.js"></script>'
          await write("index.html", index)
          await write("main.js", source("one"))
          await start("/opt/atoll/node", ...server)
          await has("#app", "one")
          await page.evaluate("window.before = 1")
          await ask("PATCH", contentOf("main.js"), 200, {
            expectedSha256: createHash("sha256").update(source("one")).digest("hex"),
            oldText: '"one"',
            newText: '"two"'
          })
          await has("#app", "two")
          await write("main.js", source("three"))
          await has("#app", "three")
          // Replaced in the existing page, without a reload.
          assert.strictEqual(await page.evaluate("window.before"), 1)
          assert.strictEqual(new URL(page.url()).port, String(atoll.port))
        })
      }).pipe(Effect.scoped)
    )
  })
})
