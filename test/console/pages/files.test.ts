/** The console's pages as files: how large they are, how they are answered, and that nothing in them comes from elsewhere. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assetsPath, pageFiles } from "../../../src/console/bundle/pageFiles.ts"
import { TestApi } from "../../http/TestApi.ts"

const mostGzipBytes = 60 * 1024

/** Of all pages together, the terminal's file not counted: XState and the machines are a fifth of it, uPlot a sixth. */
const allMostGzipBytes = 142 * 1024

/** What a terminal needs is larger, and nobody else's: it comes when one is shown. */
const terminal = /^Terminal-\w+\.js$/

/** Identifiers of XML vocabularies, which nobody asks for. */
const vocabularies =
  /^http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xhtml|1998\/Math\/MathML|1999\/xlink|XML\/1998\/namespace)/

layer(TestApi.layer(), { excludeTestServices: true })("the console's files", (it) => {
  it.effect(`of the first load are at most ${mostGzipBytes / 1024} kB with gzip; none names another host`, () =>
    Effect.gen(function* () {
      const { assets, page } = yield* Effect.promise(pageFiles)
      // Those that the page names, and what they import before they run; `import("…")` waits until it is shown.
      const first = new Set<string>()
      const follow = (text: string, found: RegExp) => {
        for (const [, name] of text.matchAll(found)) {
          if (first.has(name!)) continue
          first.add(name!)
          follow(assets.get(name!)!.plain.toString(), /(?:from|import)"\.\/([^"]+)"/g)
        }
      }
      follow(page.plain.toString(), /\/console\/assets\/([^"]+)"/g)
      const sizeOf = (names: Iterable<string>) =>
        [...names].reduce((sum, name) => sum + assets.get(name)!.gzip.byteLength, 0)
      assert.isAtMost(page.gzip.byteLength + sizeOf(first), mostGzipBytes)
      const later = [...assets.keys()].filter((name) => !first.has(name))
      assert.isNotEmpty(later)
      assert.isTrue(later.some((name) => terminal.test(name)))
      for (const name of later) if (!terminal.test(name)) assert.isAtMost(sizeOf([name]), mostGzipBytes, name)
      assert.isAtMost(
        page.gzip.byteLength + sizeOf([...assets.keys()].filter((name) => !terminal.test(name))),
        allMostGzipBytes
      )
      for (const { plain } of [page, ...assets.values()]) {
        const addresses =
          Buffer.from(plain)
            .toString()
            .match(/https?:\/\/[^\s"'`)]+/g) ?? []
        assert.deepStrictEqual(
          addresses.filter((address) => !vocabularies.test(address)),
          []
        )
      }
    })
  )

  it.effect("answers every path of the console with one page under a strict policy, without a script of its own", () =>
    Effect.gen(function* () {
      const { send } = yield* TestApi
      for (const path of ["/console", "/console/", "/console/keys", "/console/no/such/page"]) {
        const answer = yield* Effect.promise(() => send("GET", path, { key: null }))
        assert.strictEqual(answer.status, 200, path)
        assert.strictEqual(answer.headers["content-type"], "text/html; charset=utf-8")
        const policy = String(answer.headers["content-security-policy"]).split("; ")
        assert.includeMembers(policy, [
          "default-src 'none'",
          "script-src 'self'",
          "frame-ancestors 'none'",
          "base-uri 'none'"
        ])
        assert.notMatch(policy.join(), /unsafe|data:|blob:|\*|https?:/)
        assert.deepInclude(answer.headers, {
          "cache-control": "no-cache",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "cross-origin-opener-policy": "same-origin"
        })
        assert.notMatch(answer.text, /<style|style=|<script(?! type="module" src="\/console\/assets\/)| on\w+=/)
      }
    })
  )

  it.effect("keeps files of the page for ever, compressed ahead; the page itself is looked at each time", () =>
    Effect.gen(function* () {
      const { send } = yield* TestApi
      const ask = (path: string, headers: Record<string, string> = {}) =>
        Effect.promise(() => send("GET", path, { key: null, headers }))
      const page = yield* ask("/console/")
      const script = /src="([^"]+)"/.exec(page.text)![1]!
      const plain = yield* ask(script)
      assert.strictEqual(plain.headers["cache-control"], "public, max-age=31536000, immutable")
      assert.isUndefined(plain.headers["content-encoding"])
      for (const [accepted, encoding] of [
        ["gzip, deflate, br, zstd", "br"],
        ["gzip", "gzip"],
        ["br;q=0, gzip", "gzip"],
        ["identity", undefined]
      ] as const) {
        const answer = yield* ask(script, { "accept-encoding": accepted })
        assert.strictEqual(answer.headers["content-encoding"], encoding, accepted)
        assert.strictEqual(answer.headers["vary"], "accept-encoding")
      }
      const again = yield* ask("/console/", { "if-none-match": String(page.headers["etag"]) })
      assert.deepStrictEqual([again.status, again.text], [304, ""])
    })
  )

  it.effect("answers what is no file and no endpoint of it with the Error body", () =>
    Effect.gen(function* () {
      const { send } = yield* TestApi
      const ask = (method: string, path: string) => Effect.promise(() => send(method, path, { key: null }))
      const asset = yield* ask("GET", `${assetsPath}main-00000000.js`)
      assert.deepStrictEqual([asset.status, asset.json.code], [404, "NOT_FOUND"])
      const endpoint = yield* ask("GET", "/console/api/no-such")
      assert.deepStrictEqual([endpoint.status, endpoint.json.code], [404, "NOT_FOUND"])
      const method = yield* ask("GET", "/console/api/sign-in")
      assert.deepStrictEqual([method.status, method.headers["allow"]], [405, "POST, OPTIONS"])
      const other = yield* ask("GET", "/consoles")
      assert.strictEqual(other.status, 404)
    })
  )
})
