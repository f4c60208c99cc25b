/** The last line of a command that the service refused. */
import { execFile } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { resolve } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { atollWith, withinMs } from "../../../support/commandLine.ts"
import { compiledOnce } from "../../../support/compiledOnce.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

const customer = (url: string, key: string, ...words: ReadonlyArray<string>): Promise<Ended> =>
  new Promise((done) => {
    const child = execFile(
      process.execPath,
      [resolve("clients/typescript/src/cli/main.ts"), ...words],
      { env: { PATH: process.env["PATH"], ...compiledOnce, ATOLL_URL: url, ATOLL_API_KEY: key } },
      (_, stdout, stderr) => done({ code: child.exitCode, stdout, stderr })
    )
  })

const absent = "sbx_01m821aq5ge84rb1c2dn3m2zzz"

/** A proxy whose error looks like the service's, with another link. Its path hides it from the watch of the description. */
const proxyWith = (link: string | null) =>
  Effect.acquireRelease(
    Effect.promise(
      () =>
        new Promise<ReturnType<typeof createServer>>((ready) => {
          const body = JSON.stringify({
            code: "NOT_FOUND",
            message: "There is none.",
            requestId: "req_1",
            details: null
          })
          const server = createServer((_, response) => {
            response.writeHead(404, { "content-type": "application/json", ...(link === null ? {} : { link }) })
            response.end(body)
          })
          server.listen(0, "127.0.0.1", () => ready(server))
        })
    ),
    (server) => Effect.sync(() => void server.close().closeAllConnections())
  ).pipe(Effect.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/behind`))

layer(TestApi.layer(), { excludeTestServices: true })("where an error of the service leads", (it) => {
  it.effect(
    "is the last line on stderr, once for each code, and no line with --json or without an answer",
    () =>
      Effect.gen(function* () {
        const { port, key, newKey } = yield* TestApi
        const url = `http://127.0.0.1:${port}`
        const { secret } = yield* Effect.promise(() => newKey(["sandbox:read"]))
        const [wrongKey, scope, unknown, several, json, away] = yield* Effect.promise(() =>
          Promise.all([
            customer(url, "atoll_live_wrong", "usage"),
            customer(url, secret, "sandbox", "create", "--no-network"),
            customer(url, key, "sandbox", "show", absent),
            customer(url, key, "sandbox", "delete", absent, absent.replace("z", "y"), "none"),
            customer(url, key, "sandbox", "show", absent, "--json"),
            customer("http://127.0.0.1:1", key, "usage")
          ])
        )
        const last = ({ code, stdout, stderr }: Ended) => {
          assert.deepStrictEqual([code, stdout], [1, ""], stderr)
          assert.notMatch(stderr, /atoll_live/)
          return stderr.split("\n").slice(-2)
        }
        assert.deepStrictEqual(last(wrongKey), [`More: ${url}/docs#UNAUTHENTICATED`, ""])
        assert.deepStrictEqual(last(scope), [`More: ${url}/docs#SCOPE_REQUIRED`, ""])
        assert.deepStrictEqual(last(unknown), [`More: ${url}/docs#NOT_FOUND`, ""])
        assert.match(unknown.stderr, /^atoll: There is no Sandbox .*\nMore: .*\n$/)
        assert.match(several.stderr, /^(?:atoll: .*\n){3}More: .*#NOT_FOUND\n$/)
        for (const { code, stderr } of [json, away]) {
          assert.strictEqual(code, 1)
          assert.match(stderr, /^(?:atoll: .*\n)+$/)
        }
      }),
    withinMs
  )

  it.effect(
    "is shown without what may be secret in it, and only as the answer gave it",
    () =>
      Effect.gen(function* () {
        const [secret, script, none] = yield* Effect.all([
          proxyWith('<https://user:pass@docs.example.com/codes?token=abc#NOT_FOUND>; rel="help"'),
          proxyWith('<javascript:alert(1)>; rel="help"'),
          proxyWith(null)
        ])
        const asked = yield* Effect.promise(() =>
          Promise.all([secret, script, none].map((url) => customer(url, "atoll_live_x", "sandbox", "show", absent)))
        )
        const sentence = `atoll: There is no Sandbox "${absent}". \`atoll sandbox list\` shows the account's Sandboxes.\n`
        assert.deepStrictEqual(
          asked.map(({ stderr }) => stderr),
          [`${sentence}More: https://docs.example.com/codes#NOT_FOUND\n`, sentence, sentence]
        )
      }).pipe(Effect.scoped),
    withinMs
  )

  it.effect(
    "ends the operator's `tunnel`, too",
    () =>
      Effect.gen(function* () {
        const { port } = yield* TestApi
        const url = `http://127.0.0.1:${port}`
        const words = ["tunnel", "atoll_cap_wrong", "5432", "--url", url]
        const [refused, json] = yield* Effect.all([atollWith({}, ...words), atollWith({}, ...words, "--json")], {
          concurrency: 2
        })
        assert.deepStrictEqual([refused.code, refused.stdout], [1, ""])
        assert.match(refused.stderr, new RegExp(`^atoll: .*\\nMore: ${url}/docs#[A-Z_]+\\n$`))
        assert.notInclude(refused.stderr, "atoll_cap")
        assert.match(json.stderr, /^atoll: .*\n$/)
      }),
    withinMs
  )
})
