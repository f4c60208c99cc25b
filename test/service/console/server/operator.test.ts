/** The operator's way into the console: a link of the command line, a session of its own kind, and all that ends it. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type { OperatedAuditEvent } from "../../../../schemas/console/OperatedAudit.ts"
import type { OperatedSession } from "../../../../schemas/console/OperatedSessions.ts"
import { OperatorSessions } from "../../../../src/console/server/OperatorSessions.ts"
import { forgetOver } from "../../../../src/console/server/operatorAges.ts"
import { atoll, documentOf, withinMs } from "../../../support/commandLine.ts"
import { Browser, registered } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const minuteMs = 60 * 1000
const hourMs = 60 * minuteMs

const newCode = Effect.map(
  Effect.flatMap(OperatorSessions, ({ createLink }) => createLink),
  ({ code }) => code
).pipe(Effect.provide(OperatorSessions.layer))

const ask = (
  browser: Browser,
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>
) => Effect.promise(() => browser.console(method, `/operator${path}`, body, headers))

const signedIn = Effect.fnUntraced(function* (port: number) {
  const browser = new Browser(port)
  const answer = yield* ask(browser, "POST", "/sign-in", { code: yield* newCode })
  assert.strictEqual(answer.status, 200, answer.text)
  return { browser, answer, id: answer.json.session.id as string }
})

const statusOf = (browser: Browser, path = "/hosts") => Effect.map(ask(browser, "GET", path), ({ status }) => status)

layer(TestApi.layer(), { excludeTestServices: true })("the operator", (it) => {
  it.effect(
    "comes in by a link that the command line prints, once, and all of his sessions end by another word of it",
    () =>
      Effect.gen(function* () {
        const { port, second } = yield* TestApi
        const printed = yield* atoll("operator", "link")
        const [, code] =
          /^http:\/\/127\.0\.0\.1:8080\/console\/operator#link=([\w-]{43})\n$/.exec(printed.stdout) ??
          assert.fail(printed.stdout)
        assert.deepStrictEqual([printed.code, printed.stderr.includes(code!)], [0, false])
        const sql = yield* SqlClient.SqlClient
        const kept = JSON.stringify(yield* sql`select code_sha256 from operator_links`)
        assert.notInclude(kept, code!)
        // The first of two concurrent requests at two processes.
        const tries = yield* Effect.all(
          [port, second.port].map((at) => ask(new Browser(at), "POST", "/sign-in", { code })),
          { concurrency: "unbounded" }
        )
        assert.sameMembers(
          tries.map(({ status }) => status),
          [200, 401]
        )
        const opened = tries.find(({ status }) => status === 200)!
        const [cookie] = opened.headers["set-cookie"]!
        assert.match(cookie!, /^atoll_operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200$/)
        assert.strictEqual(opened.headers["cache-control"], "no-store")
        const browser = new Browser(port)
        browser.cookie = cookie!.split(";", 1)[0]!
        browser.csrf = opened.json.session.csrf
        assert.notInclude(
          JSON.stringify(yield* sql`select s::text as row from operator_sessions s`),
          browser.cookie.split("=")[1]!
        )
        assert.strictEqual(yield* statusOf(browser), 200)

        const unused = yield* newCode
        const { ended } = yield* documentOf("operator", "sign-out", "--json")
        assert.strictEqual(ended, 1)
        assert.strictEqual(yield* statusOf(browser.at(second.port)), 401)
        assert.strictEqual((yield* ask(new Browser(port), "POST", "/sign-in", { code: unused })).status, 401)

        // The link's own code is in no record.
        const { browser: next } = yield* signedIn(port)
        const { events } = (yield* ask(next, "GET", "/audit?source=operator&limit=2")).json
        assert.deepStrictEqual(
          events.map(({ action, method, path, account }: OperatedAuditEvent) => [action, method, path, account]),
          [
            ["endOperatorSessions", "CLI", "atoll operator sign-out", null],
            ["createOperatorLink", "CLI", "atoll operator link", null]
          ]
        )
        assert.notInclude(JSON.stringify(events), code!)
      }),
    withinMs
  )

  it.effect(
    "sees in the page who is signed in, as the command line does, and ends all sessions there, with its own",
    () =>
      Effect.gen(function* () {
        const { port, second } = yield* TestApi
        const { browser, id } = yield* signedIn(port)
        const { browser: other, id: otherId } = yield* signedIn(second.port)
        const unused = yield* newCode
        const { sessions } = (yield* ask(browser, "GET", "/sessions")).json
        const known = sessions.filter((session: OperatedSession) => [id, otherId].includes(session.id))
        assert.deepStrictEqual(
          known.map((session: OperatedSession) => [session.id, session.isThis, session.sourceIp]),
          [
            [otherId, false, "127.0.0.1"],
            [id, true, "127.0.0.1"]
          ]
        )
        const listed = yield* documentOf("operator", "sessions", "--json")
        assert.deepStrictEqual(
          listed.sessions,
          sessions.map(({ isThis: _, ...session }: OperatedSession) => session)
        )
        const ended = yield* ask(browser, "POST", "/sessions/end")
        const said = `${sessions.length} sessions ended, and no printed link works any more.`
        assert.deepStrictEqual(ended.json, { said, link: null, secret: null })
        assert.deepStrictEqual([yield* statusOf(browser), yield* statusOf(other)], [401, 401])
        assert.strictEqual((yield* ask(new Browser(port), "POST", "/sign-in", { code: unused })).status, 401)
        const { browser: next } = yield* signedIn(port)
        const { events } = (yield* ask(next, "GET", "/audit?action=endOperatorSessions&limit=1")).json
        assert.deepInclude(events[0], { method: "POST", path: "/console/api/operator/sessions/end", account: null })
      }),
    withinMs
  )

  it.effect(
    "is nobody else: no session is good for what is another kind's, nor is a key, nor both cookies together",
    () =>
      Effect.gen(function* () {
        const { port, send } = yield* TestApi
        const { browser: person } = yield* registered(port)
        const { browser: operator } = yield* signedIn(port)
        const [personal, own] = [person.cookie!, operator.cookie!]
        const value = (cookie: string) => cookie.split("=")[1]!
        const as = (cookie: string, csrf: string | null) => {
          const browser = new Browser(port)
          browser.cookie = cookie
          browser.csrf = csrf
          return browser
        }
        const strangers = [
          person,
          as(`atoll_operator=${value(personal)}`, person.csrf),
          as(`atoll_session=${value(own)}`, operator.csrf)
        ]
        for (const stranger of strangers) {
          for (const [method, path, body] of [
            ["GET", "/session", undefined],
            ["GET", "/hosts", undefined],
            ["GET", "/hosts/host_any", undefined],
            ["GET", "/workers", undefined],
            ["GET", "/sessions", undefined],
            ["POST", "/sessions/end", undefined],
            ["POST", "/doctor", undefined],
            ["POST", "/hosts/host_any/wish", { wish: "drain" }],
            ["POST", "/hosts/host_any/remove", { isForced: true }],
            ["POST", "/sign-out", undefined]
          ] as const) {
            const refused = yield* ask(stranger, method, path, body)
            assert.deepStrictEqual([refused.status, refused.json.code], [401, "UNAUTHENTICATED"], path)
            assert.isUndefined(refused.headers["set-cookie"])
          }
        }
        const byKey = yield* Effect.promise(() => send("GET", "/console/api/operator/hosts"))
        assert.strictEqual(byKey.status, 401)
        for (const stranger of [operator, as(`atoll_session=${value(own)}`, operator.csrf)]) {
          for (const path of ["/api/v2/me", "/api/v2/sandboxes", "/console/api/session", "/console/api/keys"]) {
            const { status } = yield* Effect.promise(() => stranger.ask("GET", path))
            assert.strictEqual(status, 401, path)
          }
        }
        // A browser with both sends both: each is read where it belongs, and the header of one is not the other's.
        const both = `${personal}; ${own}`
        assert.strictEqual(yield* statusOf(as(both, operator.csrf)), 200)
        assert.strictEqual(yield* statusOf(as(both, person.csrf)), 403)
        const keys = (csrf: string | null) =>
          Effect.promise(async () => (await as(both, csrf).console("GET", "/keys")).status)
        assert.deepStrictEqual([yield* keys(person.csrf), yield* keys(operator.csrf)], [200, 403])
      })
  )

  it.effect("is heard from the page's own origin and with its header only, in GETs too", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser, answer } = yield* signedIn(port)
      const forged: ReadonlyArray<Record<string, string>> = [
        { "x-atoll-csrf": "" },
        { "x-atoll-csrf": "x" },
        { origin: "https://evil.example" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "cross-site" }
      ]
      for (const headers of forged) {
        const words = JSON.stringify(headers)
        for (const [method, path, body] of [
          ["GET", "/hosts", undefined],
          ["POST", "/hosts/host_any/remove", {}],
          ["POST", "/sign-out", undefined]
        ] as const) {
          const refused = yield* ask(browser, method, path, body, headers)
          assert.deepStrictEqual([refused.status, refused.json.code], [403, "CROSS_SITE_REQUEST"], `${path} ${words}`)
        }
        if ("x-atoll-csrf" in headers) continue
        const entrance = yield* ask(new Browser(port), "POST", "/sign-in", { code: "x" }, headers)
        assert.strictEqual(entrance.status, 403, words)
      }
      const form = yield* ask(new Browser(port), "POST", "/sign-in", "code=x", {
        "content-type": "application/x-www-form-urlencoded"
      })
      assert.strictEqual(form.status, 415)
      // A page that was loaded again has the cookie alone, and learns the header by it.
      const reloaded = browser.at(port)
      reloaded.csrf = null
      assert.strictEqual(yield* statusOf(reloaded), 403)
      assert.strictEqual((yield* ask(reloaded, "GET", "/session")).json.session.csrf, answer.json.session.csrf)
      assert.strictEqual(yield* statusOf(reloaded), 200)
    })
  )

  it.effect("is out after twelve hours, an hour of nothing, and signing out; what is over is forgotten", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const now = Date.now()
      const set = (id: string, createdMsAgo: number, usedMsAgo: number) =>
        sql`update operator_sessions set created_at = ${BigInt(now - createdMsAgo)}, last_used_at = ${BigInt(now - usedMsAgo)} where id = ${id}`
      const { browser, id } = yield* signedIn(port)
      yield* set(id, 11.9 * hourMs, 59 * minuteMs)
      assert.strictEqual(yield* statusOf(browser), 200)
      // That was a use.
      const [{ used }] = (yield* sql<{
        used: bigint
      }>`select last_used_at as used from operator_sessions where id = ${id}`) as [{ used: bigint }]
      assert.isAtLeast(Number(used), now)
      yield* set(id, 12 * hourMs, 0)
      assert.strictEqual(yield* statusOf(browser), 401)
      yield* set(id, hourMs, hourMs)
      assert.strictEqual(yield* statusOf(browser), 401)
      const past = yield* newCode
      yield* sql`update operator_links set expires_at = ${BigInt(now)}`
      assert.strictEqual((yield* ask(new Browser(port), "POST", "/sign-in", { code: past })).status, 401)

      const { browser: leaving, id: left } = yield* signedIn(port)
      const away = yield* ask(leaving.at(port), "POST", "/sign-out")
      assert.strictEqual(away.status, 204)
      assert.match(away.headers["set-cookie"]![0]!, /^atoll_operator=; .*Max-Age=0$/)
      assert.strictEqual(yield* statusOf(leaving.at(second.port)), 401)
      const { id: staying } = yield* signedIn(port)
      yield* forgetOver(sql, Date.now())
      const rows = yield* sql<{ id: string }>`select id from operator_sessions`
      const ids = rows.map((row) => row.id)
      assert.include(ids, staying)
      assert.isFalse(ids.includes(id) || ids.includes(left))
      assert.deepStrictEqual(yield* sql`select 1 from operator_links`, [])
    })
  )

  it.effect("sees that there is no host but this one where the service does all", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser } = yield* signedIn(port)
      const { json } = yield* ask(browser, "GET", "/hosts")
      assert.deepStrictEqual(json, { isFleet: false, states: {}, hosts: [], matching: 0, nextCursor: null })
    })
  )

  it.effect("cannot be guessed: an address has sixty tries, and then one in two seconds", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from attempts`
      const statuses: Array<number> = []
      while (statuses.at(-1) !== 429 && statuses.length < 1000) {
        statuses.push((yield* ask(new Browser(port), "POST", "/sign-in", { code: "a".repeat(43) })).status)
      }
      assert.isAtLeast(statuses.length, 61)
      assert.deepStrictEqual([statuses[0], statuses.at(-1)], [401, 429])
      // However slow the machine is.
      yield* sql`update attempts set paid_until = paid_until + 60000`
      const right = yield* ask(new Browser(port), "POST", "/sign-in", { code: yield* newCode })
      assert.strictEqual(right.status, 429)
      yield* sql`delete from attempts`
    })
  )
})
