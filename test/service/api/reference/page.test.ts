/** The reference at `/docs`: everything that the description has, under the console's policy, without a script. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorHelp } from "../../../../schemas/ErrorHelp.ts"
import { type ErrorCode, errors } from "../../../../schemas/Errors.ts"
import { endpointsOf, type OpenApi } from "../../../../src/api/reference/Document.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const withApi = (test: (api: TestApi["Service"]) => Promise<void>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const codes = Object.keys(errors) as ReadonlyArray<ErrorCode>

const plain = { key: null }

/** As a browser reads it. */
const textOf = (html: string): string =>
  html
    .replace(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&")

/** The HTML from the element with this id to the next article or section. */
const part = (html: string, id: string): string => {
  const from = html.indexOf(` id="${id}"`)
  assert.isAbove(from, 0, id)
  const rest = html.slice(from)
  return rest.slice(0, rest.search(/<\/(?:article|section)>/))
}

layer(TestApi.layer(), { excludeTestServices: true })("the reference", (it) => {
  it.effect("is a page of the service under the console's own policy, and needs no script and no other host", () =>
    withApi(async ({ send }) => {
      const page = await send("GET", "/docs", plain)
      assert.strictEqual(page.status, 200)
      assert.match(String(page.headers["content-type"]), /^text\/html/)
      const console = await send("GET", "/console/", plain)
      const policy = String(page.headers["content-security-policy"])
      assert.strictEqual(policy, String(console.headers["content-security-policy"]))
      assert.include(policy, "trusted-types 'none'")
      assert.notMatch(page.text, /<script|\son[a-z]+=|\sstyle=|<style|javascript:/)
      const links = [...page.text.matchAll(/\s(?:href|src)="([^"]*)"/g)].map(([, link]) => link!)
      assert.isAbove(links.length, 100)
      for (const link of links) assert.match(link, /^(?:#|\/(?!\/))/, "another host")
      const files = links.filter((link) => link.startsWith("/docs/assets/"))
      assert.lengthOf(files, 2)
      for (const file of files) {
        const { status, headers } = await send("GET", file, plain)
        assert.strictEqual(status, 200, file)
        assert.match(String(headers["cache-control"]), /immutable/)
      }
      assert.strictEqual((await send("GET", "/docs/assets/other.css", plain)).status, 404)
    })
  )

  it.effect("is small, compressed and revalidated", () =>
    withApi(async ({ send }) => {
      const headers = { "accept-encoding": "br" }
      const page = await send("GET", "/docs", { ...plain, headers })
      assert.strictEqual(page.headers["content-encoding"], "br")
      assert.isBelow(Number(page.headers["content-length"]), 60_000)
      const again = { ...headers, "if-none-match": String(page.headers["etag"]) }
      assert.strictEqual((await send("GET", "/docs", { ...plain, headers: again })).status, 304)
    })
  )

  it.effect("has Atoll's name; every link within it leads somewhere; no id is twice; no key is in it", () =>
    withApi(async ({ send, key }) => {
      const { text } = await send("GET", "/docs", plain)
      assert.match(text, /<title>Atoll API/)
      const document = await send("GET", "/api/v2/openapi.json", plain)
      assert.strictEqual(document.json.info.title, "Atoll API")
      for (const one of [text, document.text]) {
        assert.notInclude(one, "Customer Sandbox API")
        assert.notInclude(one, key)
        assert.notMatch(one, /atoll_live_\w/)
      }
      const ids = [...text.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => id!)
      assert.strictEqual(new Set(ids).size, ids.length)
      for (const [, id] of text.matchAll(/href="#([^"]*)"/g)) assert.include(ids, id!)
    })
  )

  it.effect(
    "has each operation with its request in three languages, each parameter, and the example of each answer",
    () =>
      withApi(async ({ send }) => {
        const { text } = await send("GET", "/docs", plain)
        const document: OpenApi = (await send("GET", "/api/v2/openapi.json", plain)).json
        for (const { path, operation } of endpointsOf(document)) {
          const { operationId, parameters, responses } = operation
          const html = part(text, operationId)
          const shown = textOf(html)
          assert.include(shown, path, operationId)
          const samples = operation["x-codeSamples"]
          assert.deepStrictEqual(
            samples.map(({ label }) => label),
            ["curl", "TypeScript", "Python"],
            operationId
          )
          for (const { source } of samples) assert.include(shown, source.trimEnd(), operationId)
          for (const { name } of parameters) assert.include(html, `<code>${name}</code>`, operationId)
          for (const [status, { content = {} }] of Object.entries(responses)) {
            if (status === "default") continue
            assert.include(shown, status, operationId)
            for (const [mediaType, { example, examples = {} }] of Object.entries(content)) {
              for (const code of Object.keys(examples)) assert.include(html, `href="#${code}"`, operationId)
              if (example === undefined) continue
              const text = mediaType === "application/json" ? JSON.stringify(example, null, 2) : String(example)
              assert.include(shown, text, `${operationId} ${status}`)
            }
          }
        }
      })
  )

  it.effect("says of requests which fields they need, and of answers which they may lack", () =>
    withApi(async ({ send }) => {
      const { text } = await send("GET", "/docs", plain)
      const presences = (id: string) => [
        ...new Set([...part(text, id).matchAll(/class="presence">([^<]*)</g)].map(([, told]) => told))
      ]
      assert.deepStrictEqual(presences("CreateSandboxRequest"), ["required"])
      assert.deepStrictEqual(presences("Sandbox"), [])
      assert.deepStrictEqual(presences("listSandboxes"), [])
      assert.notInclude(text, Number.MAX_SAFE_INTEGER.toLocaleString("en-US"))
    })
  )

  it.effect("explains every error by its code: cause, next step, and the body", () =>
    withApi(async ({ send }) => {
      const { text } = await send("GET", "/docs", plain)
      for (const code of codes) {
        const shown = textOf(part(text, code))
        const { cause, next } = errorHelp[code]
        assert.include(shown, `Cause. ${cause.replaceAll("`", "")}`, code)
        assert.include(shown, `Next step. ${next.replaceAll("`", "")}`, code)
        assert.include(shown, `"code": "${code}"`)
        assert.match(cause, /^[A-Z`].*\.$/, code)
        assert.match(next, /^[A-Z`].*\.$/, code)
      }
    })
  )

  it.effect("is where every error answer leads, also where no route is asked", () =>
    withApi(async ({ send, raw, port }) => {
      const { text } = await send("GET", "/docs", plain)
      const failing = [
        await send("GET", "/api/v2/me", plain),
        await send("GET", "/api/v2/no-such-path"),
        await send("PUT", "/api/v2/me"),
        await send("POST", "/api/v2/workspaces", { body: {} }),
        await send("GET", "/api/v2/sandboxes/sbx_00000000000000000000000000/terminal"),
        await send("GET", "/api/v2/tunnel?port=80"),
        await send("GET", "/console/api/session", plain)
      ]
      for (const { status, headers, json } of failing) {
        assert.isAtLeast(status, 400)
        assert.strictEqual(headers["link"], `</docs#${json.code}>; rel="help"`)
        assert.include(text, ` id="${json.code}"`)
      }
      const host = `127.0.0.1:${port}`
      for (const request of [
        `GET /api/v2/me HTTP/1.1\r\nHost: ${host}\r\nHost: ${host}\r\n\r\n`,
        "no well-formed HTTP\r\n\r\n"
      ]) {
        assert.include(await raw(request, 2000), 'docs#INVALID_REQUEST>; rel="help"')
      }
    })
  )
})
