/** API keys as people manage them: shown once, seen for ever, gone at once. */
import { setTimeout } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { type Browser, registered } from "../../../support/console/server/Browser.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { sendTo, TestApi } from "../../../support/http/TestApi.ts"

const inConsole = (...[browser, method, path, body, headers]: [Browser, ...Parameters<Browser["console"]>]) =>
  Effect.promise(() => browser.console(method, path, body, headers))

const statusOf = (port: number, secret: string) =>
  Effect.map(
    Effect.promise(() => sendTo(port, secret)("GET", "/api/v2/me")),
    ({ status }) => status
  )

layer(TestApi.layer(), { excludeTestServices: true })("keys in the console", (it) => {
  it.effect("are shown once, and listed with their hint, scopes, end, last use and from where", () =>
    Effect.gen(function* () {
      const { port, sourceIp } = yield* TestApi
      const { browser } = yield* registered(port)
      const expiresAt = "2100-01-31T12:00:00.000Z"
      const made = yield* inConsole(browser, "POST", "/keys", {
        name: "CI",
        scopes: ["sandbox:read", "usage:read", "sandbox:read"],
        expiresAt: "2100-01-31T13:00:00+01:00"
      })
      assert.strictEqual(made.status, 201, made.text)
      assert.strictEqual(made.headers["cache-control"], "no-store")
      const { key, secret } = made.json
      assert.deepInclude(key, {
        name: "CI",
        hint: secret.slice(-4),
        scopes: ["sandbox:read", "usage:read"],
        expiresAt,
        lastUsedAt: null,
        lastUsedFrom: null,
        revokedAt: null,
        revokedBy: null
      })
      assert.strictEqual(yield* statusOf(port, secret), 200)
      let listed = yield* inConsole(browser, "GET", "/keys")
      // Another process's notes are read once it has written them.
      while (isOverAFleet && listed.json.keys[0].lastUsedAt === null) listed = yield* inConsole(browser, "GET", "/keys")
      assert.notInclude(listed.text, secret)
      assert.deepInclude(listed.json.keys[0], { id: key.id, expiresAt, lastUsedFrom: sourceIp })
      assert.isBelow(Date.now() - Date.parse(listed.json.keys[0].lastUsedAt), 60_000)
      const plain = yield* inConsole(browser, "POST", "/keys", { scopes: ["sandbox:read"] })
      assert.deepInclude(plain.json.key, { name: "Development", expiresAt: null })
    })
  )

  it.effect("have scopes that there are, and an end that is still to come", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser } = yield* registered(port)
      for (const [body, path] of [
        [{ scopes: [] }, ["scopes"]],
        [{ scopes: ["everything"] }, ["scopes", 0]],
        [{}, ["scopes"]],
        [{ scopes: ["sandbox:read"], expiresAt: "2020-01-31T12:00:00Z" }, ["expiresAt"]],
        [{ scopes: ["sandbox:read"], expiresAt: "tomorrow" }, ["expiresAt"]],
        [{ scopes: ["sandbox:read"], name: "" }, ["name"]],
        [{ scopes: ["sandbox:read"], expires: "2100-01-31T12:00:00Z" }, ["expires"]]
      ] as const) {
        const refused = yield* inConsole(browser, "POST", "/keys", body)
        assert.strictEqual(refused.status, 400, refused.text)
        assert.deepStrictEqual(refused.json.details.issues[0].path.slice(0, path.length), path, refused.text)
      }
      assert.deepStrictEqual((yield* inConsole(browser, "GET", "/keys")).json.keys, [])
    })
  )

  it.effect("are refused by every process once they are revoked or rotated, stay visible, and say by whom", () =>
    Effect.gen(function* () {
      const { port, second, auditWritten } = yield* TestApi
      const { browser } = yield* registered(port)
      const make = (name: string) => inConsole(browser, "POST", "/keys", { name, scopes: ["sandbox:read"] })
      const [revoked, rotated, own] = yield* Effect.all([make("revoked"), make("rotated"), make("own")])
      for (const { json } of [revoked, rotated, own]) {
        assert.deepStrictEqual(
          [yield* statusOf(port, json.secret), yield* statusOf(second.port, json.secret)],
          [200, 200]
        )
      }
      const gone = yield* inConsole(browser, "POST", `/keys/${revoked.json.key.id}/revoke`)
      assert.deepInclude(gone.json.key, { id: revoked.json.key.id, revokedBy: "console" })
      assert.deepStrictEqual(
        [yield* statusOf(port, revoked.json.secret), yield* statusOf(second.port, revoked.json.secret)],
        [401, 401]
      )
      const again = yield* inConsole(browser, "POST", `/keys/${revoked.json.key.id}/revoke`)
      assert.strictEqual(again.json.key.revokedAt, gone.json.key.revokedAt)

      const next = yield* inConsole(browser, "POST", `/keys/${rotated.json.key.id}/rotate`)
      assert.strictEqual(next.status, 201, next.text)
      assert.deepInclude(next.json.key, { name: "rotated", scopes: ["sandbox:read"], lastUsedAt: null })
      assert.notStrictEqual(next.json.key.id, rotated.json.key.id)
      assert.deepStrictEqual(
        [yield* statusOf(second.port, rotated.json.secret), yield* statusOf(second.port, next.json.secret)],
        [401, 200]
      )
      assert.strictEqual((yield* inConsole(browser, "POST", `/keys/${rotated.json.key.id}/rotate`)).status, 404)

      yield* Effect.promise(() => sendTo(port, own.json.secret)("DELETE", "/api/v2/auth"))
      const { keys } = (yield* inConsole(browser, "GET", "/keys")).json
      assert.deepStrictEqual(
        keys.map(({ name, revokedBy, revokedAt }: Record<string, unknown>) => [name, revokedBy, revokedAt !== null]),
        [
          ["revoked", "console", true],
          ["rotated", "console", true],
          ["own", "key", true],
          ["rotated", null, false]
        ]
      )

      yield* Effect.promise(auditWritten)
      const { events } = (yield* Effect.promise(() => browser.ask("GET", "/api/v2/usage/audit"))).json
      const seen = events.map((event: Record<string, unknown>) => [event["action"], event["path"], event["targetId"]])
      assert.deepInclude(seen, ["createKey", "/console/api/keys", own.json.key.id])
      assert.deepInclude(seen, ["rotateKey", `/console/api/keys/${rotated.json.key.id}/rotate`, rotated.json.key.id])
      assert.deepInclude(seen, ["revokeKey", `/console/api/keys/${revoked.json.key.id}/revoke`, revoked.json.key.id])
    })
  )

  it.effect("are rotated once by concurrent requests", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const { browser } = yield* registered(port)
      const { key } = (yield* inConsole(browser, "POST", "/keys", { scopes: ["sandbox:read"] })).json
      const answers = yield* Effect.forEach(
        [port, second.port, port, second.port],
        (one) => inConsole(browser.at(one), "POST", `/keys/${key.id}/rotate`),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [201, 404, 404, 404])
      assert.strictEqual((yield* inConsole(browser, "GET", "/keys")).json.keys.length, 2)
    })
  )

  it.effect("are not rotated once they have expired: nothing that ended comes back", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const { browser } = yield* registered(port)
      const expiresAt = Date.now() + 1000
      const made = yield* inConsole(browser, "POST", "/keys", {
        scopes: ["sandbox:read"],
        expiresAt: new Date(expiresAt).toISOString()
      })
      assert.strictEqual(made.status, 201, made.text)
      // No later than its end, and by its end the key is refused.
      while ((yield* statusOf(port, made.json.secret)) === 200) yield* Effect.promise(() => setTimeout(20))
      assert.isAtLeast(Date.now(), expiresAt)
      const rotated = yield* inConsole(browser, "POST", `/keys/${made.json.key.id}/rotate`)
      assert.strictEqual(rotated.status, 404, rotated.text)
      assert.strictEqual((yield* inConsole(browser, "GET", "/keys")).json.keys.length, 1)
    })
  )
})
