/**
 * A suspended account: every process and every endpoint refuses each of its keys immediately; the account loses
 * nothing.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import { SqlClient } from "effect/sql"
import { Authorized, scopes } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Accounts } from "../../../src/account/Accounts.ts"
import { sendTo, TestApi } from "../../support/http/TestApi.ts"

const endpoints: Array<{ method: string; path: string }> = []
HttpApi.reflect(Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }: { readonly endpoint: HttpApiEndpoint.Top }) => {
    if (!endpoint.middlewares.has(Authorized as never)) return
    endpoints.push({ method: endpoint.method, path: endpoint.path.replace(/:\w+/g, "x") })
  }
})

const newTenant = (api: TestApi["Service"], services: Context.Context<Accounts | SqlClient.SqlClient>) => {
  const accounts = Context.get(services, Accounts)
  const sql = Context.get(services, SqlClient.SqlClient)
  const name = randomUUID()
  return {
    newKey: async (only: Parameters<TestApi["Service"]["newKey"]>[0] = scopes) => (await api.newKey(only, name)).secret,
    found: async () => (await Effect.runPromise(accounts.find(name)))!,
    suspend: async () => Effect.runPromise(accounts.suspend((await Effect.runPromise(accounts.find(name)))!.id)),
    resume: async () => Effect.runPromise(accounts.resume((await Effect.runPromise(accounts.find(name)))!.id)),
    rows: <A extends object>(query: (sql: SqlClient.SqlClient) => Effect.Effect<ReadonlyArray<A>, unknown>) =>
      Effect.runPromise(Effect.orDie(query(sql)))
  }
}

const withTenant = <A>(test: (tenant: ReturnType<typeof newTenant>, api: TestApi["Service"]) => Promise<A>) =>
  Effect.gen(function* () {
    const api = yield* TestApi
    const services = yield* Effect.context<Accounts | SqlClient.SqlClient>()
    return yield* Effect.promise(() => test(newTenant(api, services), api))
  })

/** The service deletes an outbox row soon; a trigger keeps a copy here. */
const told = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`create table told (account_id text)`
    yield* sql`
      create function keep_told() returns trigger language plpgsql as $$
      begin insert into told values (new.account_id); return new; end $$`
    yield* sql`create trigger keep_told before insert or update on wallet_nudges for each row execute function keep_told()`
  })
)

const service = Layer.merge(Accounts.layer, told).pipe(Layer.provideMerge(TestApi.layer()))

layer(service, { excludeTestServices: true })("a suspended account", (it) => {
  it.effect(
    "gets 403 from every endpoint that needs a key, before any other error but 401, and regains everything once resumed",
    () =>
      withTenant(async ({ newKey, suspend, resume }, { send, second }) => {
        const key = await newKey()
        const reader = await newKey(["usage:read"])
        const workspace = await send("POST", "/api/v2/workspaces", {
          key,
          body: { name: "kept" },
          headers: { "idempotency-key": "w" }
        })
        await suspend()
        const there = sendTo(second.port, key)
        assert.isAbove(endpoints.length, 30)
        for (const { method, path } of endpoints) {
          for (const answer of [await send(method, path, { key }), await there(method, path)]) {
            assert.deepStrictEqual([answer.status, answer.json.code], [403, "ACCOUNT_SUSPENDED"], `${method} ${path}`)
          }
        }
        const lacking = await send("GET", "/api/v2/me", { key: reader })
        assert.deepStrictEqual(lacking.json.code, "ACCOUNT_SUSPENDED")
        assert.strictEqual((await send("GET", "/api/v2/me", { key: null })).status, 401)
        assert.strictEqual((await send("GET", "/api/v2/me", { key: await newKey() })).json.code, "ACCOUNT_SUSPENDED")
        assert.strictEqual((await send("GET", "/api/v2/openapi.json", { key: null })).status, 200)
        await resume()
        const listed = await send("GET", "/api/v2/workspaces", { key })
        assert.strictEqual(listed.json.workspaces[0].id, workspace.json.workspace.id)
        assert.strictEqual((await there("GET", "/api/v2/me")).status, 200)
      })
  )

  it.effect("is refused by every process once suspending has returned, and other accounts are not affected", () =>
    withTenant(async ({ newKey, suspend, resume }, { port, second, key: otherKey }) => {
      const key = await newKey()
      const here = sendTo(port, key)
      const there = sendTo(second.port, key)
      for (let round = 0; round < 5; round++) {
        let accepted = 0
        let asking = true
        // Both processes hold a fresh lease at the moment of the suspension.
        const askers = [here, there].map(async (ask) => {
          while (asking) if ((await ask("GET", "/api/v2/me")).status === 200) accepted++
        })
        await new Promise((resolve) => setTimeout(resolve, 20))
        await suspend()
        const after = await Promise.all([here("GET", "/api/v2/me"), there("GET", "/api/v2/me")])
        assert.strictEqual((await here("GET", "/api/v2/me", { key: otherKey })).status, 200)
        await resume()
        const again = await Promise.all([here("GET", "/api/v2/me"), there("GET", "/api/v2/me")])
        asking = false
        await Promise.all(askers)
        assert.deepStrictEqual(
          [...after, ...again].map(({ status }) => status),
          [403, 403, 200, 200]
        )
        assert.isAbove(accepted, 0)
      }
    })
  )

  it.effect("makes no Sandbox in a request that passed authentication before", () =>
    withTenant(async ({ newKey, found, rows }, api) => {
      const key = await newKey()
      const workspaceId = await api.newWorkspace(key)
      const { id } = await found()
      // Without a wait for leases the request counts as one that is under way.
      await rows((sql) => sql`update accounts set suspended_at = 1 where id = ${id}`)
      const refused = await api.send("POST", "/api/v2/sandboxes", {
        key,
        body: { workspaceId },
        headers: { "idempotency-key": "k" }
      })
      assert.deepStrictEqual([refused.status, refused.json.code], [403, "ACCOUNT_SUSPENDED"])
      const kept = await rows(
        (sql) => sql`
        select id from actors where account_id = ${id} and kind = 'sandbox'
        union all select key from idempotency_keys where account_id = ${id} and kind = 'sandbox.create'`
      )
      assert.deepStrictEqual(kept, [])
    })
  )

  it.effect("keeps the instant of its first suspension, and its wallet gets each change", () =>
    withTenant(async ({ newKey, suspend, resume, found, rows }, api) => {
      await newKey()
      const { id } = await found()
      const told = async () => (await rows((sql) => sql`select 1 from told where account_id = ${id}`)).length
      assert.isNull((await found()).suspendedAt)
      const first = await suspend()
      assert.isNumber(first!.suspendedAt)
      const once = await told()
      assert.isAbove(once, 0)
      assert.strictEqual((await suspend())!.suspendedAt, first!.suspendedAt)
      const twice = await told()
      assert.isNull((await resume())!.suspendedAt)
      assert.isNull((await found()).suspendedAt)
      assert.isAbove(await told(), twice)
      assert.strictEqual((await api.send("GET", "/api/v2/me", { key: await newKey() })).status, 200)
    })
  )

  it.effect("has its refused calls in the audit log", () =>
    withTenant(async ({ newKey, suspend, resume }, { send }) => {
      const key = await newKey()
      await suspend()
      const refused = await send("POST", "/api/v2/sandboxes", { key, body: {} })
      assert.strictEqual(refused.status, 403)
      await resume()
      for (;;) {
        const { events } = (await send("GET", "/api/v2/usage/audit", { key })).json
        if (events.length > 0) {
          assert.deepInclude(events[0], { status: 403, requestId: refused.headers["x-request-id"] })
          return
        }
        await new Promise((resolve) => setTimeout(resolve, 50))
      }
    })
  )

  it.effect("suspend and resume of an unknown account return null", () =>
    Effect.gen(function* () {
      const accounts = yield* Accounts
      assert.isNull(yield* accounts.suspend("acc_nothing"))
      assert.isNull(yield* accounts.resume("acc_nothing"))
      assert.isNull(yield* accounts.find("unknown"))
    })
  )
})
