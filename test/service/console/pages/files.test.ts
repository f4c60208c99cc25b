/** The console's pages as files: how large they are, how they are answered, and that nothing in them comes from elsewhere. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { assetsPath, pageFiles } from "../../../../src/console/bundle/pageFiles.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

/** Of all that any one page needs when it is the first that a browser shows, the terminal's file not counted. A Sandbox's life has the snapshots' machine, too. */
const mostGzipBytes = 70_000

/** Of all pages together that an account has; 2,000 of it are what was explored of the machines. Snapshots, forks and images, with their machines, are part of it. */
const allMostGzipBytes = 158_000

/** No account's browser loads it. */
const operators = /^Operator-\w+\.js$/

/** What a terminal needs is larger, and nobody else's: it comes when one is shown. */
const terminal = /^Terminal-\w+\.js$/

/** What they fetch when it is shown is one page, or one part of a page, of several. */
const leadsOn = /^(?:main|Sandbox)-\w+\.js$/

/** Identifiers of XML vocabularies, which nobody asks for. */
const vocabularies =
  /^http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xhtml|1998\/Math\/MathML|1999\/xlink|XML\/1998\/namespace)/

layer(TestApi.layer(), { excludeTestServices: true })("the console's files", (it) => {
  it.effect("are small, page by page; none names another host", () =>
    Effect.gen(function* () {
      const { assets, page } = yield* Effect.promise(pageFiles)
      const textOf = (name: string) => Buffer.from(assets.get(name)!.plain).toString()
      const named = (text: string, found: RegExp) => [...text.matchAll(found)].map(([, name]) => name!)
      const union = (sets: ReadonlyArray<ReadonlySet<string>>) => new Set(sets.flatMap((names) => [...names]))
      /** What a browser asks for before the first of these runs. */
      const withImports = (names: Iterable<string>): ReadonlySet<string> => {
        const found = new Set(names)
        for (const name of found) for (const one of named(textOf(name), /(?:from|import)"\.\/([^"]+)"/g)) found.add(one)
        return found
      }
      /** All that is needed, for each of the pages that a file leads to, besides what is there already. */
      const loadsOf = (file: ReadonlySet<string>, there: ReadonlySet<string>): ReadonlyArray<ReadonlySet<string>> => {
        const more = [...file].filter((name) => !there.has(name))
        const later = more.flatMap((name) => named(textOf(name), /import\("\.\/([^"]+)"\)/g))
        const loads = later.flatMap((name) => loadsOf(withImports([name]), union([there, file])))
        return more.some((name) => leadsOn.test(name))
          ? loads.map((load) => union([file, load]))
          : [union([file, ...loads])]
      }
      const sizeOf = (names: ReadonlySet<string>) =>
        [...names]
          .filter((name) => !terminal.test(name))
          .reduce((sum, name) => sum + assets.get(name)!.gzip.byteLength, page.gzip.byteLength)
      const first = withImports(named(Buffer.from(page.plain).toString(), /\/console\/assets\/([^"]+)"/g))
      const loads = loadsOf(first, new Set())
      // The entrance, 9 pages of the shell, 9 parts of a Sandbox and the form that changes one, an operation; the operator's.
      assert.strictEqual(loads.length, 22)
      for (const load of loads) assert.isAtMost(sizeOf(load), mostGzipBytes, [...load].join(" "))
      const all = union(loads)
      assert.sameMembers([...all], [...assets.keys()])
      assert.isTrue([...all].some((name) => terminal.test(name)))
      const ofAccounts = loads.filter((load) => ![...load].some((name) => operators.test(name)))
      assert.strictEqual(ofAccounts.length, loads.length - 1)
      assert.isAtMost(sizeOf(union(ofAccounts)), allMostGzipBytes)
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
