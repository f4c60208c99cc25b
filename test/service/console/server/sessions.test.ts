/** Sessions: what opens one, what it is good for, and all that ends it. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Accounts } from "../../../../src/account/Accounts.ts"
import { OperatorSessions } from "../../../../src/console/server/OperatorSessions.ts"
import { Browser, newLink, passphrase, registered } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const minuteMs = 60 * 1000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs

const ask = (...[browser, method, path, body, headers]: [Browser, ...Parameters<Browser["ask"]>]) =>
  Effect.promise(() => browser.ask(method, path, body, headers))
const statusOf = (browser: Browser, method = "GET", path = "/api/v2/workspaces") =>
  Effect.map(ask(browser, method, path), ({ status }) => status)
const inConsole = (...[browser, method, path, body, headers]: [Browser, ...Parameters<Browser["console"]>]) =>
  Effect.promise(() => browser.console(method, path, body, headers))

const signedIn = Effect.fnUntraced(function* (port: number, email: string, given = passphrase) {
  const browser = new Browser(port)
  const answer = yield* inConsole(browser, "POST", "/sign-in", { email, passphrase: given })
  return { browser, answer }
})

layer(TestApi.layer(), { excludeTestServices: true })("a session", (it) => {
  it.effect("is a cookie that no script reads and no other site sends, and a new one at each sign-in", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser, person, session } = yield* registered(port)
      const chosen = new Browser(port)
      chosen.cookie = `atoll_session=${"a".repeat(43)}`
      for (const visitor of [browser, chosen, browser]) {
        const before = visitor.cookie
        const { headers, json } = yield* inConsole(visitor, "POST", "/sign-in", { email: person.email, passphrase })
        const [cookie] = headers["set-cookie"]!
        assert.match(cookie!, /^atoll_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=2592000$/)
        assert.notStrictEqual(visitor.cookie, before)
        assert.notStrictEqual(json.session.id, session.id)
        assert.strictEqual(json.session.openedBy, "passphrase")
        assert.notInclude(JSON.stringify(json), visitor.cookie!.split("=")[1]!)
      }
      chosen.cookie = `atoll_session=${"a".repeat(43)}`
      assert.strictEqual(yield* statusOf(chosen), 401)
    })
  )

  it.effect("is worth nothing without the page's header, and from another origin, in GETs too", () =>
    Effect.gen(function* () {
      const { port, key, send } = yield* TestApi
      const { browser } = yield* registered(port)
      const { browser: another } = yield* registered(port)
      const host = `127.0.0.1:${port}`
      const forged: ReadonlyArray<Record<string, string>> = [
        { "x-atoll-csrf": "" },
        { "x-atoll-csrf": "x" },
        { "x-atoll-csrf": another.csrf! },
        { origin: "https://evil.example" },
        { origin: "null" },
        { origin: `http://127.0.0.1:${port + 1}` },
        { "sec-fetch-site": "cross-site" },
        { "sec-fetch-site": "same-site" },
        { "sec-fetch-site": "none" }
      ]
      for (const headers of forged) {
        const words = JSON.stringify(headers)
        for (const [method, path, body] of [
          ["GET", "/api/v2/me", undefined],
          ["POST", "/api/v2/workspaces", { name: "forged" }],
          ["GET", "/console/api/keys", undefined],
          ["POST", "/console/api/keys", { scopes: ["sandbox:read"] }],
          ["POST", "/console/api/sign-out", {}]
        ] as const) {
          const refused = yield* ask(browser, method, path, body, { "idempotency-key": "f", ...headers })
          assert.deepStrictEqual([refused.status, refused.json.code], [403, "CROSS_SITE_REQUEST"], `${path} ${words}`)
          assert.isUndefined(refused.headers["set-cookie"])
        }
        if ("x-atoll-csrf" in headers) continue
        assert.strictEqual((yield* inConsole(browser, "GET", "/session", undefined, headers)).status, 403, words)
        const entrance = yield* inConsole(new Browser(port), "POST", "/sign-in-link", { code: "x" }, headers)
        assert.deepStrictEqual([entrance.status, entrance.json.code], [403, "CROSS_SITE_REQUEST"], words)
      }
      const own = { origin: `http://${host}`, "sec-fetch-site": "same-origin" }
      const listed = yield* ask(browser, "GET", "/api/v2/workspaces", undefined, own)
      assert.deepStrictEqual(listed.json.workspaces, [])
      const form = yield* ask(browser, "POST", "/console/api/sign-in", "email=a%40b&passphrase=x", {
        "content-type": "application/x-www-form-urlencoded"
      })
      assert.strictEqual(form.status, 415)
      // A key is sent by nobody who does not have it.
      const byKey = yield* Effect.promise(() =>
        send("GET", "/api/v2/me", { key, headers: { origin: "https://evil.example", cookie: browser.cookie! } })
      )
      assert.strictEqual(byKey.json.apiKey?.hint, key.slice(-4))
    })
  )

  it.effect("tells its header to a page that has only the cookie, and nobody else", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser } = yield* registered(port)
      const reloaded = browser.at(port)
      reloaded.csrf = null
      assert.strictEqual((yield* ask(reloaded, "GET", "/api/v2/me")).json.code, "CROSS_SITE_REQUEST")
      const own = yield* inConsole(reloaded, "GET", "/session")
      assert.strictEqual(own.status, 200)
      assert.strictEqual(own.headers["cache-control"], "no-store")
      assert.strictEqual(own.json.session.csrf, browser.csrf)
      assert.strictEqual(yield* statusOf(reloaded), 200)
      assert.strictEqual((yield* inConsole(new Browser(port), "GET", "/session")).status, 401)
    })
  )

  it.effect(
    "is over in every process from the moment at which signing out is answered, and its cookie never works again",
    () =>
      Effect.gen(function* () {
        const { port, second } = yield* TestApi
        const { browser, person } = yield* registered(port)
        for (let round = 0; round < 3; round++) {
          const { browser: mine } = yield* signedIn(port, person.email)
          const stolen = [mine.at(port), mine.at(second.port)]
          let accepted = 0
          let asking = true
          // Both processes hold a fresh lease at the moment of the sign-out.
          const askers = Promise.all(
            stolen.map(async (one) => {
              while (asking) if ((await one.ask("GET", "/api/v2/me")).status === 200) accepted++
            })
          )
          yield* Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 50)))
          const ended = yield* inConsole(mine, "POST", "/sign-out", {})
          const after = yield* Effect.forEach(stolen, (one) => statusOf(one), { concurrency: 2 })
          asking = false
          yield* Effect.promise(() => askers)
          assert.deepStrictEqual([ended.status, ...after], [204, 401, 401])
          assert.match(ended.headers["set-cookie"]![0]!, /^atoll_session=; .*Max-Age=0$/)
          assert.isAbove(accepted, 0)
        }
        assert.strictEqual(yield* statusOf(browser), 200)
      })
  )

  it.effect("is over once signing out is answered, also after a sign-out whose answer was lost", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { person } = yield* registered(port)
      let repeated = 0
      // The lease may be over before the second sign-out: then that is refused.
      for (let tries = 0; tries < 20 && repeated === 0; tries++) {
        const { browser, answer } = yield* signedIn(port, person.email)
        const stolen = browser.at(port)
        assert.strictEqual(yield* statusOf(stolen), 200)
        yield* sql`update sessions set ended_at = ${BigInt(Date.now())} where id = ${answer.json.session.id}`
        const { status } = yield* inConsole(browser, "POST", "/sign-out", {})
        assert.strictEqual(yield* statusOf(stolen), 401)
        repeated += Number(status === 204)
      }
      assert.strictEqual(repeated, 1)
    })
  )

  it.effect("can be ended from another, one by one and all at once", () =>
    Effect.gen(function* () {
      const { port, second, sourceIp } = yield* TestApi
      const { browser, person, session } = yield* registered(port)
      const { browser: other, answer } = yield* signedIn(second.port, person.email)
      const { sessions } = (yield* inConsole(browser, "GET", "/sessions")).json
      assert.deepStrictEqual(
        sessions.map(({ id, isCurrent, openedBy, sourceIp }: Record<string, unknown>) => [
          id,
          isCurrent,
          openedBy,
          sourceIp
        ]),
        [
          [answer.json.session.id, false, "passphrase", sourceIp],
          [session.id, true, "registration", sourceIp]
        ]
      )
      assert.strictEqual(yield* statusOf(other), 200)
      assert.strictEqual((yield* inConsole(browser, "DELETE", `/sessions/${answer.json.session.id}`)).status, 204)
      assert.strictEqual(yield* statusOf(other), 401)
      assert.strictEqual((yield* inConsole(browser, "DELETE", `/sessions/${answer.json.session.id}`)).status, 404)
      const { browser: third } = yield* signedIn(second.port, person.email)
      assert.strictEqual((yield* inConsole(browser, "POST", "/sign-out", { everywhere: true })).status, 204)
      assert.isNull(browser.cookie)
      assert.strictEqual(yield* statusOf(third), 401)
    })
  )

  it.effect("is over 12 hours after its last use and 30 days after it was opened, and use moves the first alone", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { browser, session } = yield* registered(port)
      const elsewhere = browser.at(second.port)
      const shift = (createdAgoMs: number, usedAgoMs: number) =>
        sql`update sessions set created_at = ${BigInt(Date.now() - createdAgoMs)},
              last_used_at = ${BigInt(Date.now() - usedAgoMs)} where id = ${session.id}`
      const leaseOver = Effect.promise(() => new Promise((resolve) => setTimeout(resolve, 150)))

      yield* shift(20 * dayMs, 12 * hourMs - 60_000)
      yield* leaseOver
      assert.strictEqual(yield* statusOf(elsewhere), 200)
      const [used] = yield* sql<{ ago: bigint }>`
        select ${BigInt(Date.now())}::int8 - last_used_at as ago from sessions where id = ${session.id}`
      assert.isBelow(Number(used!.ago), minuteMs)
      const expiresAt = Date.parse((yield* inConsole(browser, "GET", "/session")).json.session.expiresAt)
      assert.approximately(expiresAt, Date.now() + 12 * hourMs, minuteMs)

      yield* shift(20 * dayMs, 12 * hourMs + 1000)
      yield* leaseOver
      assert.deepStrictEqual([yield* statusOf(browser), yield* statusOf(elsewhere)], [401, 401])

      yield* shift(30 * dayMs - minuteMs, 0)
      assert.strictEqual(yield* statusOf(browser), 200)
      const last = Date.parse((yield* inConsole(browser, "GET", "/session")).json.session.expiresAt)
      assert.isBelow(last, Date.now() + minuteMs)
      yield* shift(30 * dayMs + 1, 0)
      yield* leaseOver
      assert.deepStrictEqual([yield* statusOf(browser), yield* statusOf(elsewhere)], [401, 401])
    })
  )

  it.effect("of a suspended account gets 403 wherever it asks, may sign out, and nobody signs in", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const accounts = yield* Accounts
      const { browser, person, accountId } = yield* registered(port)
      const elsewhere = browser.at(second.port)
      assert.strictEqual(yield* statusOf(elsewhere), 200)
      yield* accounts.suspend(accountId)
      for (const one of [browser, elsewhere]) {
        for (const [method, path] of [
          ["GET", "/api/v2/me"],
          ["POST", "/api/v2/workspaces"],
          ["GET", "/console/api/session"],
          ["GET", "/console/api/keys"]
        ] as const) {
          const refused = yield* ask(one, method, path)
          assert.deepStrictEqual([refused.status, refused.json.code], [403, "ACCOUNT_SUSPENDED"], path)
        }
      }
      const right = yield* signedIn(port, person.email)
      assert.deepStrictEqual([right.answer.status, right.browser.cookie], [403, null])
      const wrong = yield* signedIn(port, person.email, "not the passphrase")
      assert.strictEqual(wrong.answer.status, 401)
      assert.strictEqual((yield* inConsole(browser, "POST", "/sign-out", {})).status, 204)
      yield* accounts.resume(accountId)
      assert.strictEqual(yield* statusOf(elsewhere), 401)
      assert.strictEqual((yield* signedIn(port, person.email)).answer.status, 200)
    }).pipe(Effect.provide(Accounts.layer))
  )

  it.effect("reaches nothing of another account, and an API key opens nothing of the console", () =>
    Effect.gen(function* () {
      const { port, key, accountId, newKey, newWorkspace } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { browser } = yield* registered(port)
      const { session: others } = yield* registered(port)
      const { id: keyId, secret } = yield* Effect.promise(() => newKey(["sandbox:read"]))
      const workspaceId = yield* Effect.promise(() => newWorkspace())
      for (const [method, path, body] of [
        ["DELETE", `/console/api/sessions/${others.id}`, undefined],
        ["POST", `/console/api/keys/${keyId}/revoke`, undefined],
        ["POST", `/console/api/keys/${keyId}/rotate`, undefined],
        ["POST", "/api/v2/sandboxes", { workspaceId }],
        ["DELETE", "/console/api/sessions/ses_nothing", undefined],
        ["POST", "/console/api/keys/x/revoke", undefined]
      ] as const) {
        const refused = yield* ask(browser, method, path, body, { "idempotency-key": path })
        assert.deepStrictEqual([refused.status, refused.json.code], [404, "NOT_FOUND"], path)
      }
      const [row] = yield* sql<{ revoked_at: bigint | null }>`select revoked_at from api_keys where id = ${keyId}`
      assert.isNull(row!.revoked_at)
      assert.notInclude((yield* inConsole(browser, "GET", "/keys")).text, keyId)
      assert.isNotEmpty(accountId)
      for (const authorization of [`Bearer ${key}`, `Bearer ${secret}`]) {
        const refused = yield* inConsole(new Browser(port), "GET", "/keys", undefined, { authorization })
        assert.strictEqual(refused.status, 401)
      }
      const [pair] = [browser.cookie!]
      const twice = browser.at(port)
      twice.cookie = `${pair}; atoll_session=${"a".repeat(43)}`
      assert.strictEqual(yield* statusOf(twice), 401)
    })
  )

  it.effect("that a link opens is the link's only one, and may set a passphrase, which ends all others", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const { account, code } = yield* newLink
      const answers = yield* Effect.forEach(
        [port, second.port, port, second.port],
        (one) => {
          const browser = new Browser(one)
          return Effect.map(inConsole(browser, "POST", "/sign-in-link", { code }), ({ status, json }) => ({
            status,
            json,
            browser
          }))
        },
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 401, 401, 401])
      const { browser, json } = answers.find(({ status }) => status === 200)!
      assert.deepInclude(json.session, { openedBy: "link", email: null })
      assert.strictEqual(json.session.account.id, account.id)

      const change = (one: Browser, body: object) => inConsole(one, "POST", "/passphrase", body)
      const first = "the first of the passphrases"
      const without = yield* change(browser, { new: first })
      assert.deepStrictEqual(without.json.details.issues[0].path, ["email"])
      const old = browser.at(second.port)
      const email = `${account.name}@example.org`
      const set = yield* change(browser, { new: first, email })
      assert.strictEqual(set.status, 200, set.text)
      assert.deepInclude(set.json.session, { email, openedBy: "passphrase" })
      assert.deepStrictEqual([yield* statusOf(old), yield* statusOf(browser)], [401, 200])

      assert.deepStrictEqual((yield* change(browser, { new: passphrase })).json.details.issues[0].path, ["old"])
      const wrong = yield* change(browser, { new: passphrase, old: "something else" })
      assert.deepStrictEqual(wrong.json.details.issues[0].path, ["old"])
      const { browser: other } = yield* signedIn(second.port, email, first)
      assert.strictEqual((yield* change(browser, { new: passphrase, old: first })).status, 200)
      assert.deepStrictEqual([yield* statusOf(other), yield* statusOf(browser)], [401, 200])
      assert.strictEqual((yield* signedIn(port, email, first)).answer.status, 401)
      assert.strictEqual((yield* signedIn(port, email)).answer.status, 200)
    })
  )

  it.effect("that a link opened sets no passphrase without the old one once an hour is over", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { account, code } = yield* newLink
      const browser = new Browser(port)
      yield* inConsole(browser, "POST", "/sign-in-link", { code })
      yield* sql`insert into passphrases values (${account.id}, ${account.id}, ${account.id}, 'lost', 0)`
      yield* sql`update sessions set created_at = created_at - ${BigInt(hourMs)} where account_id = ${account.id}`
      const refused = yield* inConsole(browser, "POST", "/passphrase", { new: passphrase })
      assert.deepStrictEqual(refused.json.details.issues[0].path, ["old"])
      yield* sql`update sessions set created_at = created_at + ${BigInt(hourMs / 2)} where account_id = ${account.id}`
      assert.strictEqual((yield* inConsole(browser, "POST", "/passphrase", { new: passphrase })).status, 200)
    })
  )
})

layer(TestApi.layer({ ATOLL_PUBLIC_URL: "https://atoll.example.org" }), { excludeTestServices: true })(
  "a session that came by https",
  (it) => {
    it.effect("is a cookie that goes by nothing else, and no other name is looked at", () =>
      Effect.gen(function* () {
        const { port } = yield* TestApi
        const { browser, person } = yield* registered(port)
        const { answer } = yield* signedIn(port, person.email)
        assert.match(
          answer.headers["set-cookie"]![0]!,
          /^__Host-atoll_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=2592000$/
        )
        assert.strictEqual(yield* statusOf(browser), 200)
        browser.cookie = browser.cookie!.replace("__Host-", "")
        assert.strictEqual(yield* statusOf(browser), 401)
        // So is the operator's.
        const { code } = yield* (yield* OperatorSessions).createLink
        const opened = yield* inConsole(new Browser(port), "POST", "/operator/sign-in", { code })
        assert.match(
          opened.headers["set-cookie"]![0]!,
          /^__Host-atoll_operator=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=43200$/
        )
      }).pipe(Effect.provide(OperatorSessions.layer))
    )
  }
)
