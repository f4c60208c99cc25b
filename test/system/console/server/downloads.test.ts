/** A whole file for a browser to save: what must come together for it, and what comes. */
import { randomBytes } from "node:crypto"
import { request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import { dispositionOf } from "../../../../src/api/http/ConsoleDownloadHandlers.ts"
import { Browser, registered } from "../../../support/console/server/Browser.ts"
import { agentRuntime, TestService } from "../../../support/files/TestService.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"

/** Somebody with a Sandbox that runs. */
const tenant = Effect.gen(function* () {
  const { port } = yield* TestService
  const { browser } = yield* registered(port)
  const sandboxId = yield* Effect.promise(async () => {
    const once = () => ({ "idempotency-key": randomBytes(8).toString("hex") })
    const workspace = await browser.ask("POST", "/api/v2/workspaces", { name: "w" }, once())
    const body = { workspaceId: workspace.json.workspace.id, networkEnabled: false }
    const made = await browser.ask("POST", "/api/v2/sandboxes?wait=running", body, once())
    assert.strictEqual(made.json.sandbox.status, "running")
    return made.json.sandbox.id as string
  })
  const bare = browser.at(port)
  bare.csrf = null
  return { browser, bare, sandboxId }
})

const ticketOf = async (browser: Browser): Promise<string> =>
  (await browser.console("POST", "/tickets")).json.ticket as string

const query = (path: string, ticket: string) => new URLSearchParams({ path, ticket })

/** @param bare As a browser that follows a link asks: with the cookie, and no header of ours. */
const follow = (bare: Browser, sandboxId: string, given: URLSearchParams, headers: Record<string, string> = {}) =>
  bare.console("GET", `/sandboxes/${sandboxId}/download?${given}`, undefined, headers)

/** Reads the head of the answer, and the rest on demand, with a pause after each piece; returns how many bytes came in all. */
const heldBack = (port: number, { cookie }: Browser, sandboxId: string, given: URLSearchParams) =>
  new Promise<{ readonly read: (restMs: number) => Promise<number> }>((resolve, reject) => {
    const path = `/console/api/sandboxes/${sandboxId}/download?${given}`
    request({ port, host: "127.0.0.1", path, headers: { cookie: cookie! } }, (answer) => {
      answer.pause()
      let received = 0
      const read = (restMs: number) =>
        new Promise<number>((done) => {
          answer.on("close", () => done(received)).on("error", () => {})
          answer.on("data", ({ byteLength }: Buffer) => {
            received += byteLength
            if (restMs === 0) return
            answer.pause()
            setTimeout(() => answer.resume(), restMs)
          })
          answer.resume()
        })
      resolve({ read })
    })
      .on("error", reject)
      .end()
  })

describe.skipIf(skipped(unusable))("a download from a real Sandbox", () => {
  layer(TestService.layer(Layer.orDie(freshDriver())), { excludeTestServices: true, timeout: 240_000 })((it) => {
    it.effect("ends with its session, however much of it is left, and not before", () =>
      Effect.gen(function* () {
        const { port } = yield* TestService
        const { browser, sandboxId } = yield* tenant
        yield* Effect.promise(async () => {
          const bytes = 64 * 1024 ** 2
          await browser.ask("POST", `/api/v2/sandboxes/${sandboxId}/execute`, {
            argv: ["truncate", "-s", String(bytes), "sparse"]
          })
          const download = async () =>
            heldBack(port, browser, sandboxId, query("/workspace/sparse", await ticketOf(browser)))
          assert.strictEqual(await (await download()).read(0), bytes)
          const cut = await download()
          assert.strictEqual((await browser.console("POST", "/sign-out", {})).status, 204)
          // To read it all like this would take 15 seconds; twice a second it is looked at whether the session still is one.
          assert.isBelow(await cut.read(15), bytes)
        })
      })
    )
  })
})

layer(TestService.layer(agentRuntime), { excludeTestServices: true })("a download", (it) => {
  it.effect("needs the cookie and a ticket of the same session, once, from its own page", () =>
    Effect.gen(function* () {
      const { port } = yield* TestService
      const { browser, bare, sandboxId } = yield* tenant
      const other = yield* tenant
      yield* Effect.promise(async () => {
        const path = "/workspace/a.txt"
        const written = await browser.ask(
          "PUT",
          `/api/v2/sandboxes/${sandboxId}/files/content?path=${path}`,
          Buffer.from("content"),
          { "content-type": "application/octet-stream" }
        )
        assert.strictEqual(written.status, 204, written.text)
        const tried = async (given: URLSearchParams, headers?: Record<string, string>, by = bare) => {
          const { status, json } = await follow(by, sandboxId, given, headers)
          return [status, json?.code]
        }
        const sameSite = { "sec-fetch-site": "same-origin" }
        assert.deepStrictEqual(await tried(new URLSearchParams({ path })), [400, "INVALID_REQUEST"])
        assert.deepStrictEqual(await tried(query(path, "nothing")), [401, "UNAUTHENTICATED"])
        assert.deepStrictEqual(await tried(query(path, await ticketOf(other.browser))), [403, "CROSS_SITE_REQUEST"])
        const ticket = await ticketOf(browser)
        for (const site of ["cross-site", "same-site", "none"]) {
          assert.deepStrictEqual(await tried(query(path, ticket), { "sec-fetch-site": site }), [
            403,
            "CROSS_SITE_REQUEST"
          ])
        }
        const noCookie = new Browser(port)
        assert.deepStrictEqual(await tried(query(path, ticket), sameSite, noCookie), [401, "UNAUTHENTICATED"])
        const answer = await follow(bare, sandboxId, query(path, ticket), sameSite)
        assert.deepStrictEqual([answer.status, answer.text], [200, "content"])
        assert.deepInclude(answer.headers, {
          "content-type": "application/octet-stream",
          "content-length": "7",
          "cache-control": "no-store",
          "x-content-type-options": "nosniff"
        })
        assert.match(String(answer.headers["content-disposition"]), /^attachment; filename="a\.txt"/)
        assert.deepStrictEqual(await tried(query(path, ticket), sameSite), [401, "UNAUTHENTICATED"])
        const foreign = await follow(bare, other.sandboxId, query(path, await ticketOf(browser)), sameSite)
        assert.deepStrictEqual([foreign.status, foreign.json.code], [404, "NOT_FOUND"])
        for (const [wrong, code] of [
          ["/workspace", "IS_A_DIRECTORY"],
          ["/workspace/nothing", "NOT_FOUND"],
          ["/etc/passwd", "INVALID_PATH"]
        ] as const) {
          assert.strictEqual((await tried(query(wrong, await ticketOf(browser))))[1], code, wrong)
        }
      })
    })
  )

  it.effect("is called by a name that does nothing", () =>
    Effect.sync(() => {
      assert.strictEqual(
        dispositionOf(`/workspace/d/it's "q".txt`),
        `attachment; filename="it's _q_.txt"; filename*=UTF-8''it%27s%20_q_.txt`
      )
      assert.strictEqual(
        dispositionOf("/workspace/\u202egpj.exe\r\nX: y\u{10fee9}"),
        `attachment; filename="_gpj.exe__X: y_"; filename*=UTF-8''_gpj.exe__X%3A%20y_`
      )
      assert.strictEqual(
        dispositionOf("/workspace/Größe.txt"),
        `attachment; filename="Gr__e.txt"; filename*=UTF-8''Gr%C3%B6%C3%9Fe.txt`
      )
    })
  )
})
