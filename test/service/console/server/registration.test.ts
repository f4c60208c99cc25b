/** Invitations become accounts: whole ones, once. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Invitations } from "../../../../src/console/server/Invitations.ts"
import { Browser, newInvitation, newPerson, passphrase, registered } from "../../../support/console/server/Browser.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { lines, linesWith, rememberAll } from "../../../support/serviceLog.ts"

const dayMs = 24 * 60 * 60 * 1000

const post = (port: number, path: string, body: unknown) =>
  Effect.promise(() => new Browser(port).console("POST", path, body))

const logged = TestApi.layer({ ATOLL_LOG_LEVEL: "debug" }).pipe(Layer.provide(rememberAll))

layer(logged, { excludeTestServices: true })("registration", (it) => {
  it.effect("makes a prepaid account with credit for 14 days, signs in, and the session is good for the API", () =>
    Effect.gen(function* () {
      const { port, auditWritten } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { code } = yield* newInvitation()
      const offered = yield* post(port, "/invitation", { code })
      assert.deepInclude(offered.json.invitation, { email: null, creditMicroUsd: 10_000_000 })

      const person = newPerson()
      const browser = new Browser(port)
      const ask = (method: string, path: string, body?: unknown, headers?: Record<string, string>) =>
        Effect.promise(() => browser.ask(method, path, body, headers))
      const made = yield* Effect.promise(() => browser.console("POST", "/register", { code, ...person }))
      assert.strictEqual(made.status, 201, made.text)
      assert.strictEqual(made.headers["cache-control"], "no-store")
      const { account, openedBy, email } = made.json.session
      assert.deepStrictEqual(
        [account.name, account.billing, openedBy, email],
        [person.accountName, "prepaid", "registration", person.email]
      )

      const [grant] = yield* sql<{ kind: string; granted_micro_usd: bigint; life: bigint; since: bigint }>`
        select kind, granted_micro_usd, expires_at - effective_at as life, effective_at - a.created_at as since
        from grants g join accounts a on a.id = g.account_id where a.id = ${account.id}`
      assert.deepInclude(grant, { kind: "promotional", granted_micro_usd: 10_000_000n })
      assert.approximately(Number(grant!.life), 14 * dayMs, 60_000)
      assert.isBelow(Number(grant!.since), 60_000)

      const me = yield* ask("GET", "/api/v2/me")
      assert.deepInclude(me.json.account, { id: account.id, email: person.email })
      assert.isNull(me.json.apiKey)
      const noKey = yield* ask("DELETE", "/api/v2/auth")
      assert.deepStrictEqual([noKey.status, noKey.json.code], [400, "INVALID_REQUEST"])
      const workspace = yield* ask("POST", "/api/v2/workspaces", { name: "mine" }, { "idempotency-key": "w" })
      assert.strictEqual(workspace.status, 201, workspace.text)
      const workspaceId = workspace.json.workspace.id
      const sandbox = yield* ask("POST", "/api/v2/sandboxes", { workspaceId }, { "idempotency-key": "s" })
      assert.include([201, 202], sandbox.status, sandbox.text)

      yield* Effect.promise(auditWritten)
      const { events } = (yield* ask("GET", "/api/v2/usage/audit")).json
      assert.deepStrictEqual(
        events.map((event: Record<string, unknown>) => [
          event["source"],
          event["action"],
          event["status"],
          event["apiKeyId"],
          event["targetId"]
        ]),
        [
          ["console", "createSandbox", sandbox.status, null, sandbox.json.sandbox.id],
          ["console", "createWorkspace", 201, null, workspaceId],
          ["console", "revokeKey", 400, null, null],
          ["console", "register", 201, null, account.id]
        ]
      )
      assert.strictEqual(events[3].path, "/console/api/register")
    })
  )

  it.effect("makes one account of an invitation that several processes redeem concurrently", () =>
    Effect.gen(function* () {
      const { port, second } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { code, invitation } = yield* newInvitation()
      const people = Array.from({ length: 8 }, newPerson)
      /** Until two are in the middle of it, held up by a lock. */
      const begun = Effect.gen(function* () {
        yield* sql`lock table passphrases in share mode`
        const asked = Promise.all(
          people.map((person, at) =>
            new Browser(at % 2 === 0 ? port : second.port).console("POST", "/register", { code, ...person })
          )
        )
        for (;;) {
          yield* sql`select pg_stat_clear_snapshot()`
          const waiting = yield* sql`
            select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
          if (waiting.length >= 2) return asked
          yield* Effect.sleep(10)
        }
      }).pipe(
        sql.withTransaction,
        Effect.map((asked) => () => asked)
      )
      const answers = yield* Effect.promise(yield* begun)
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [201, ...Array(7).fill(404)])
      const made = yield* sql<{ id: string }>`
        select id from accounts where name = any(${people.map(({ accountName }) => accountName)}::text[])`
      assert.strictEqual(made.length, 1)
      const [used] = yield* sql<{ account_id: string }>`select account_id from invitations where id = ${invitation.id}`
      assert.strictEqual(used!.account_id, made[0]!.id)
      assert.strictEqual((yield* post(port, "/invitation", { code })).status, 404)
    })
  )

  it.effect("makes all or nothing: a refused one leaves the invitation as it was", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { person: other } = yield* registered(port)
      const { code } = yield* newInvitation()
      const person = newPerson()
      const refusals = [
        [{ accountName: other.accountName }, "accountName"],
        [{ email: other.email.toUpperCase() }, "email"],
        [{ email: "nobody" }, "email"],
        [{ passphrase: "too short" }, "passphrase"],
        [{ accountName: "two\nlines" }, "accountName"]
      ] as const
      for (const [change, field] of refusals) {
        const refused = yield* post(port, "/register", { code, ...person, ...change })
        assert.strictEqual(refused.status, 400, refused.text)
        assert.deepStrictEqual(refused.json.details.issues[0].path, [field])
        assert.isUndefined(refused.headers["set-cookie"])
      }
      const left = yield* sql`select 1 from accounts where name = ${person.accountName}`
      assert.deepStrictEqual(left, [])
      assert.strictEqual((yield* post(port, "/register", { code, ...person })).status, 201)
    })
  )

  it.effect("takes no invitation that is revoked, past, another's, or none", () =>
    Effect.gen(function* () {
      const { port } = yield* TestApi
      const past = yield* newInvitation({ expiresAt: Date.now() - 1 })
      const revoked = yield* newInvitation()
      yield* Effect.flatMap(Invitations, (invitations) => invitations.revoke(revoked.invitation.id)).pipe(
        Effect.provide(Invitations.layer)
      )
      for (const code of [past.code, revoked.code, "x", "a".repeat(43)]) {
        assert.strictEqual((yield* post(port, "/register", { code, ...newPerson() })).status, 404)
        assert.strictEqual((yield* post(port, "/invitation", { code })).status, 404)
      }
      const bound = yield* newInvitation({ email: "Somebody@example.org", creditMicroUsd: 0n })
      const person = newPerson()
      const wrong = yield* post(port, "/register", { code: bound.code, ...person })
      assert.deepStrictEqual(wrong.json.details.issues[0].path, ["email"])
      const right = yield* post(port, "/register", { code: bound.code, ...person, email: "somebody@example.org" })
      assert.strictEqual(right.status, 201, right.text)
    })
  )

  it.effect("leaves no code, token or passphrase in the database or the log, whatever was done with it", () =>
    Effect.gen(function* () {
      const { port, auditWritten } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { code } = yield* newInvitation()
      const browser = new Browser(port)
      const person = { ...newPerson(), passphrase: "a passphrase that stands nowhere" }
      yield* Effect.promise(() => browser.console("POST", "/register", { code, ...person }))
      const token = browser.cookie!.split("=")[1]!
      const key = yield* Effect.promise(() => browser.console("POST", "/keys", { scopes: ["sandbox:read"] }))
      yield* Effect.promise(() => browser.console("POST", "/sign-in", { ...person, accountName: undefined }))
      yield* Effect.promise(auditWritten)
      const tables = yield* sql<{ name: string }>`
        select format('%I', tablename) as name from pg_tables where schemaname = 'public'`
      assert.include(
        tables.map(({ name }) => name),
        "sessions"
      )
      for (const { name } of tables) {
        const rows = yield* sql.unsafe<{ text: string | null }>(
          `select string_agg(t::text, ' ') as text from ${name} t`
        )
        for (const secret of [code, token, person.passphrase, key.json.secret, browser.csrf!]) {
          assert.notInclude(rows[0]!.text ?? "", secret, name)
        }
      }
      assert.isNotEmpty(yield* Effect.promise(() => linesWith("/console/api/register")))
      const log = lines.join("\n")
      for (const secret of [code, token, person.passphrase, key.json.secret, browser.csrf!])
        assert.notInclude(log, secret)
      const [stored] = yield* sql<{ hash: string }>`select hash from passphrases where email = ${person.email}`
      assert.match(stored!.hash, /^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
      assert.notStrictEqual(passphrase, person.passphrase)
    })
  )
})
