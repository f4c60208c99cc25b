/** API keys: their scopes, what is stored of them, and that every process refuses a revoked key immediately. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Schedule, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Authorized, RequiredScope, scopes } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Me } from "../../../schemas/Me.ts"
import { newSecret, sha256Of } from "../../../src/account/ApiKeySecret.ts"
import { ApiKeys } from "../../../src/account/ApiKeys.ts"
import { awaitLeases, leaseMs } from "../../../src/account/KeyLease.ts"
import { sendTo, TestApi } from "../../support/http/TestApi.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const endpoints: Array<{ method: string; path: string; scope: string }> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) => {
    if (!endpoint.middlewares.has(Authorized as never)) return
    endpoints.push({
      method: endpoint.method,
      path: endpoint.path.replace(/:\w+/g, "x"),
      scope: Context.get(endpoint.annotations as Context.Context<RequiredScope>, RequiredScope)
    })
  }
})

layer(TestApi.layer(), { excludeTestServices: true })("API keys", (it) => {
  it.effect("every endpoint but one needs a key, and a key with exactly the endpoint's scope gets past 403", () =>
    withApi(async ({ send, newKey, port }) => {
      assert.isAbove(endpoints.length, 15)
      /** An event stream does not end by itself. */
      const admitted = async (method: string, path: string, key: string) => {
        if (!path.endsWith("/events")) return (await send(method, path, { key })).status
        const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { authorization: `Bearer ${key}` } })
        await answer.body?.cancel()
        return answer.status
      }
      const of = new Map<string, { with: string; without: string }>()
      for (const scope of scopes) {
        const only = await newKey([scope])
        const others = await newKey(scopes.filter((other) => other !== scope))
        of.set(scope, { with: only.secret, without: others.secret })
      }
      for (const { method, path, scope } of endpoints.filter(({ path }) => !path.endsWith("/auth"))) {
        const call = `${method} ${path}`
        assert.strictEqual((await send(method, path, { key: null })).status, 401, call)
        const refused = await send(method, path, { key: of.get(scope)!.without })
        assert.strictEqual(refused.status, 403, call)
        assert.strictEqual(refused.json.code, "SCOPE_REQUIRED")
        assert.deepStrictEqual(refused.json.details, { scope })
        assert.notInclude([401, 403, 500], await admitted(method, path, of.get(scope)!.with), call)
      }
    })
  )

  it.effect("GET /me describes the account, the key and its last use", () =>
    withApi(async ({ send, newKey, accountId }) => {
      const { secret, id } = await newKey(["sandbox:read"])
      const { status, json } = await send("GET", "/api/v2/me", { key: secret })
      assert.strictEqual(status, 200)
      assert.isTrue(Schema.is(Me)(json), JSON.stringify(json))
      assert.strictEqual(json.account.id, accountId)
      assert.deepStrictEqual(
        [json.apiKey.id, json.apiKey.hint, json.apiKey.scopes],
        [id, secret.slice(-4), ["sandbox:read"]]
      )
      assert.isBelow(Math.abs(Date.now() - Date.parse(json.apiKey.lastUsedAt)), 60_000)
      assert.deepStrictEqual(Object.keys(json.limits), ["workspaces", "sandboxes", "workspaceStorageBytes", "profile"])
    })
  )

  it.effect("a secret is 43 base62 characters after its prefix; only its SHA-256 is stored", () =>
    Effect.gen(function* () {
      const { newKey } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { secret, id } = yield* Effect.promise(() => newKey(["sandbox:read"]))
      assert.match(secret, /^atoll_live_[0-9A-Za-z]{43}$/)
      const [row] = yield* sql<Record<string, unknown>>`select * from api_keys where id = ${id}`
      assert.strictEqual(row!["secret_sha256"], sha256Of(secret))
      const everything = yield* sql<{ row: string }>`
        select k::text as row from api_keys k union all select a::text from accounts a`
      for (const { row } of everything) assert.notInclude(row, secret.slice(11))
    })
  )

  it.effect("DELETE /auth revokes the key of the request, for every process, before it answers", () =>
    withApi(async ({ port, second, newKey }) => {
      const there = sendTo(second.port, "")
      const here = sendTo(port, "")
      for (let round = 0; round < 5; round++) {
        const { secret: key } = await newKey(["sandbox:read"])
        assert.strictEqual((await here("GET", "/api/v2/me", { key })).status, 200)
        // Both processes hold a fresh lease at the moment of the revocation.
        let accepted = 0
        let asking = true
        const asker = (async () => {
          while (asking) if ((await there("GET", "/api/v2/me", { key })).status === 200) accepted++
        })()
        while (accepted === 0) await new Promise((resolve) => setTimeout(resolve, 5))
        const answer = await here("DELETE", "/api/v2/auth", { key })
        const [after, elsewhere] = await Promise.all([
          here("GET", "/api/v2/me", { key }),
          there("GET", "/api/v2/me", { key })
        ])
        asking = false
        await asker
        assert.deepStrictEqual([answer.status, answer.text, after.status, elsewhere.status], [204, "", 401, 401])
      }
    })
  )

  it.effect(
    "a slow read that began before a revocation neither admits a later request nor becomes a lease for one",
    () =>
      Effect.gen(function* () {
        const { second, newKey } = yield* TestApi
        const sql = yield* SqlClient.SqlClient
        const { secret: key, id } = yield* Effect.promise(() => newKey(["sandbox:read"]))
        const ask = () => sendTo(second.port, "")("GET", "/api/v2/workspaces", { key }).then(({ status }) => status)
        const slowMs = leaseMs * 4
        // A statement sees the database as it was when it began, and then takes time over each row.
        yield* sql`alter table api_keys rename to api_keys_stored`
        yield* sql.unsafe(
          `create view api_keys as select * from api_keys_stored where id <> '${id}' or pg_sleep(${slowMs / 1000}) is not null`
        )
        const early = ask()
        const reading = sql<{ count: number }>`
          select count(*)::int4 as count from pg_stat_activity
          where datname = current_database() and wait_event = 'PgSleep'`
        yield* Effect.repeat(reading, { schedule: Schedule.spaced(5), until: ([row]) => row!.count > 0 })
        yield* sql`update api_keys_stored set revoked_at = 1 where id = ${id}`
        yield* awaitLeases
        const during = ask()
        yield* Effect.promise(() => early)
        const after = ask()
        assert.deepStrictEqual(yield* Effect.promise(() => Promise.all([during, after])), [401, 401])
        assert.strictEqual(yield* Effect.promise(() => early), 200)
        yield* sql`drop view api_keys`
        yield* sql`alter table api_keys_stored rename to api_keys`
      })
  )

  it.effect("a key is refused from its expiry on, with the reason; a lease does not lengthen its life", () =>
    Effect.gen(function* () {
      const { send, accountId } = yield* TestApi
      const keys = yield* ApiKeys
      const make = (expiresAt: number | null) =>
        keys.create({ accountId, name: "expires", scopes: ["sandbox:read"], expiresAt })
      const ask = (key: string) => Effect.promise(() => send("GET", "/api/v2/me", { key }))
      const late = yield* make(Date.now() - 1)
      const refused = yield* ask(late.secret)
      assert.deepStrictEqual([refused.status, refused.json.code], [401, "UNAUTHENTICATED"])
      assert.match(refused.json.message, /expired/)

      const expiresAt = Date.now() + 1000
      const { secret, key } = yield* make(expiresAt)
      assert.strictEqual(key.expiresAt, expiresAt)
      let accepted = 0
      while (Date.now() < expiresAt + 150) {
        const began = Date.now()
        const { status } = yield* ask(secret)
        if (Date.now() < expiresAt) assert.strictEqual(status, 200)
        if (began >= expiresAt) assert.strictEqual(status, 401)
        accepted += status === 200 ? 1 : 0
      }
      assert.isAbove(accepted, 0)
      assert.strictEqual((yield* ask((yield* make(null)).secret)).status, 200)
      assert.isNull(yield* keys.rotate(key.id, "operator", accountId))
      assert.isNull((yield* keys.get(key.id))!.revokedAt)
    }).pipe(Effect.provide(ApiKeys.layer))
  )

  it.effect("revoking a key leaves workspaces and other keys; a revoked key stays listed", () =>
    Effect.gen(function* () {
      const { newKey, newWorkspace, send } = yield* TestApi
      const keys = yield* ApiKeys
      const name = randomUUID()
      const [one, other] = yield* Effect.promise(() => Promise.all([newKey(scopes, name), newKey(scopes, name)]))
      const workspace = yield* Effect.promise(() => newWorkspace(one.secret))
      assert.isTrue(yield* keys.revoke(one.id, "operator"))
      assert.isTrue(yield* keys.revoke(one.id, "operator"))
      assert.isFalse(yield* keys.revoke("key_nothing", "operator"))
      const listed = yield* Effect.promise(() => send("GET", "/api/v2/workspaces", { key: other.secret }))
      assert.deepStrictEqual(
        listed.json.workspaces.map((found: { id: string }) => found.id),
        [workspace]
      )
      assert.isNotNull((yield* keys.get(one.id))!.revokedAt)
    }).pipe(Effect.provide(ApiKeys.layer))
  )

  it.effect(
    "the bootstrap secret becomes one key, however often any process asks for it, and stays revoked once revoked",
    () =>
      Effect.gen(function* () {
        const keys = yield* ApiKeys
        const { send } = yield* TestApi
        const secret = newSecret()
        yield* Effect.all(
          Array.from({ length: 8 }, () => keys.bootstrap(secret)),
          { concurrency: "unbounded" }
        )
        const mine = (yield* keys.list(null)).filter((key) => key.hint === secret.slice(-4) && key.name === "Bootstrap")
        assert.strictEqual(mine.length, 1)
        assert.deepStrictEqual(mine[0]!.scopes, scopes)
        assert.strictEqual((yield* Effect.promise(() => send("GET", "/api/v2/me", { key: secret }))).status, 200)
        yield* keys.revoke(mine[0]!.id, "operator")
        yield* keys.bootstrap(secret)
        assert.strictEqual((yield* Effect.promise(() => send("GET", "/api/v2/me", { key: secret }))).status, 401)
        for (const bad of [
          "x",
          "with blank",
          secret.slice(0, -1),
          `${secret}x`,
          `${secret.slice(0, -1)}-`,
          `${secret}\n`
        ]) {
          const refusal = yield* Effect.flip(keys.bootstrap(bad))
          assert.match(refusal.message, /^ATOLL_BOOTSTRAP_API_KEY must be an API key: atoll_live_ and 43 random/)
          assert.notInclude(refusal.message, bad.slice(11).trim() || "nothing")
        }
      }).pipe(Effect.provide(ApiKeys.layer))
  )
})
