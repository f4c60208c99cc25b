/** What other sites can do with the browser of somebody who is signed in: nothing, also those that count as the same site, as previews may. */
import { once } from "node:events"
import { createServer } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import type { BrowserContext, Page } from "playwright-core"
import { noChromium, testBrowser } from "../../../support/console/pages/TestBrowser.ts"
import { atRest, heading, register } from "../../../support/console/pages/visits.ts"
import { newInvitation, registered } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

/** Serves an empty page at every path, under every name that leads to this machine. */
const otherSite = Effect.acquireRelease(
  Effect.promise(async () => {
    const server = createServer((_request, response) => {
      response.setHeader("content-type", "text/html")
      response.end("<!doctype html><title>other</title>")
    }).listen(0, "127.0.0.1")
    await once(server, "listening")
    return { server, port: (server.address() as { port: number }).port }
  }),
  ({ server }) =>
    Effect.sync(() => {
      server.closeAllConnections()
      server.close()
    })
)

const noSandbox = "sbx_00000000000000000000000000"

/** All that a page can send without being asked. Answers with what it could read of the answers. */
const attack = (target: string) => `(async () => {
  const target = ${JSON.stringify(target)}
  const read = {}
  const attempt = async (name, work) => {
    try {
      read[name] = await work()
    } catch {}
  }
  const send = (path, init) => async () => (await fetch(target + path, { credentials: "include", ...init })).text()
  const key = JSON.stringify({ name: "owned", scopes: ["sandbox:read"] })
  const workspace = JSON.stringify({ name: "owned" })
  const plain = { "content-type": "text/plain" }
  const json = { "content-type": "application/json" }
  await attempt("reading", send("/api/v2/workspaces"))
  await attempt("reading the session", send("/console/api/session"))
  await attempt("reading blindly", send("/console/api/session", { mode: "no-cors" }))
  await attempt("a key as text", send("/console/api/keys", { method: "POST", mode: "no-cors", headers: plain, body: key }))
  await attempt("a key as JSON", send("/console/api/keys", { method: "POST", headers: json, body: key }))
  await attempt("a key with a header", send("/console/api/keys", { method: "POST", headers: { ...json, "x-atoll-csrf": "x" }, body: key }))
  await attempt("a workspace", send("/api/v2/workspaces", { method: "POST", mode: "no-cors", headers: plain, body: workspace }))
  await attempt("a beacon", async () => {
    navigator.sendBeacon(target + "/console/api/sign-out", new Blob(["{}"], { type: "text/plain" }))
    return ""
  })
  await attempt("a stream", () => new Promise((resolve, reject) => {
    const stream = new EventSource(target + "/api/v2/events", { withCredentials: true })
    stream.onopen = () => resolve("open")
    stream.onerror = () => { stream.close(); reject() }
  }))
  await attempt("a socket", () => new Promise((resolve, reject) => {
    const socket = new WebSocket(target.replace("http:", "ws:") + "/api/v2/sandboxes/${noSandbox}/terminal?columns=80&rows=24")
    socket.onopen = () => resolve("open")
    socket.onerror = reject
  }))
  await attempt("a script", () => new Promise((resolve, reject) => {
    const script = document.createElement("script")
    script.src = target + "/console/api/session"
    script.onload = () => resolve("loaded")
    script.onerror = reject
    document.head.append(script)
  }))
  await attempt("a frame", () => new Promise((resolve) => {
    const frame = document.createElement("iframe")
    frame.onload = () => {
      try {
        resolve(frame.contentDocument === null ? "" : frame.contentDocument.body.textContent)
      } catch {
        resolve("")
      }
    }
    frame.src = target + "/console/"
    document.body.append(frame)
  }))
  for (const [path, enctype, name, value] of [
    ["/console/api/sign-out", "application/x-www-form-urlencoded", "everywhere", "true"],
    ["/console/api/sign-out", "text/plain", '{"everywhere":true,"x":"', '"}'],
    ["/console/api/keys", "text/plain", '{"scopes":["sandbox:read"],"name":"owned', '"}'],
    ["/console/api/sign-in", "multipart/form-data", "email", "mallory@example.org"]
  ]) {
    await attempt("a form for " + path, () => new Promise((resolve) => {
      const frame = document.createElement("iframe")
      frame.name = "sink" + Math.random()
      document.body.append(frame)
      const form = document.createElement("form")
      Object.assign(form, { action: target + path, method: "post", enctype, target: frame.name })
      const field = document.createElement("input")
      Object.assign(field, { name, value })
      form.append(field)
      document.body.append(form)
      frame.onload = () => resolve("")
      form.submit()
    }))
  }
  return read
})()`

interface Answered {
  readonly what: string
  readonly status: number
  readonly hasCookie: boolean
}

/** All that the service answers while `work` runs. */
const answersDuring = async (context: BrowserContext, target: string, work: () => Promise<void>) => {
  const seen: Array<Promise<Answered>> = []
  context.on("response", (response) => {
    if (!response.url().startsWith(target)) return
    const what = `${response.request().method()} ${response.url().slice(target.length)}`
    const asked = response.request().allHeaders()
    seen.push(asked.then((headers) => ({ what, status: response.status(), hasCookie: "cookie" in headers })))
  })
  await work()
  const answers = await Promise.all(seen)
  context.removeAllListeners("response")
  return answers
}

const owned = async (page: Page) =>
  page.evaluate(`(async () => {
    const answer = await fetch("/console/api/session")
    if (answer.status !== 200) return "signed out: " + answer.status
    const headers = { "x-atoll-csrf": (await answer.json()).session.csrf }
    const { keys } = await (await fetch("/console/api/keys", { headers })).json()
    const { workspaces } = await (await fetch("/api/v2/workspaces", { headers })).json()
    return { keys: keys.length, workspaces: workspaces.length }
  })()`)

layer(TestApi.layer(), { excludeTestServices: true })("another site", (it) => {
  for (const [whose, host, sendsCookie] of [
    ["on the console's own domain", "x.preview.atoll.localhost", true],
    ["anywhere else", "elsewhere.localhost", false]
  ] as const) {
    it.effect.skipIf(noChromium !== null)(`${whose} reads, changes and ends nothing`, () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* TestApi
          const { code } = yield* newInvitation()
          const other = yield* otherSite
          const origin = `http://atoll.localhost:${port}`
          const { page, context } = yield* (yield* testBrowser).open(origin)
          yield* Effect.promise(async () => {
            await register(page, code, `${host}@example.org`)
            assert.deepStrictEqual(await owned(page), { keys: 0, workspaces: 0 })
            const evil = await context.newPage()
            await evil.goto(`http://${host}:${other.port}/`)
            const answers = await answersDuring(context, origin, async () => {
              const read = (await evil.evaluate(attack(origin))) as Record<string, string>
              // What it did not see at all throws, and is not in here.
              assert.deepStrictEqual(
                Object.entries(read).filter(([, text]) => text !== ""),
                []
              )
            })
            await evil.close()
            const isPage = ({ what }: Answered) => what === "GET /console/"
            assert.deepStrictEqual(
              answers.filter((one) => !isPage(one) && ![401, 403, 415].includes(one.status)),
              []
            )
            const asked = answers.map(({ what }) => what)
            assert.includeMembers(asked, [
              "GET /console/",
              "GET /console/api/session",
              "POST /api/v2/workspaces",
              "POST /console/api/keys",
              "POST /console/api/sign-out",
              "POST /console/api/sign-in"
            ])
            // Where the browser sends it along, it is the service that refuses.
            assert.strictEqual(
              answers.some(({ hasCookie }) => hasCookie),
              sendsCookie
            )
            assert.deepStrictEqual(await owned(page), { keys: 0, workspaces: 0 })
          })
        })
      )
    )
  }

  it.effect.skipIf(noChromium !== null)(
    "that sets a cookie for the whole domain puts nobody into its own account",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const { port } = yield* TestApi
          const { code } = yield* newInvitation()
          const { browser: mallory, person } = yield* registered(port)
          const other = yield* otherSite
          const origin = `http://atoll.localhost:${port}`
          const { page, context } = yield* (yield* testBrowser).open(origin)
          yield* Effect.promise(async () => {
            await register(page, code, "victim@example.org")
            const evil = await context.newPage()
            await evil.goto(`http://x.preview.atoll.localhost:${other.port}/`)
            await evil.evaluate(
              `document.cookie = ${JSON.stringify(`${mallory.cookie}; domain=atoll.localhost; path=/`)}`
            )
            const cookies = (await context.cookies(origin)).filter(({ name }) => name === "atoll_session")
            assert.strictEqual(cookies.length, 2)
            await page.reload()
            await heading(page, "Sign in").waitFor()
            assert.notInclude(await page.content(), person.accountName)
            // Gone again, the victim's own session is still there.
            await evil.evaluate(`document.cookie = "atoll_session=; domain=atoll.localhost; path=/; max-age=0"`)
            await untilFound(async () => (await context.cookies(origin)).length === 1)
            await page.reload()
            await heading(page, "Sandboxes").waitFor()
            await atRest(page)
            assert.include(await page.content(), "victim@example.org")
          })
        })
      )
  )
})
