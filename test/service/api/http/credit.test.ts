/**
 * An account without credit, over HTTP: which calls are refused, at which place among the checks, and which never are.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { scopes } from "../../../../schemas/Access.ts"
import { awaitLeases } from "../../../../src/account/KeyLease.ts"
import { hang } from "../../../support/http/commands.ts"
import { type Ask, sendTo, TestApi } from "../../../support/http/TestApi.ts"

const fileQuery = `?path=${encodeURIComponent("/workspace/a")}`
const octets = { "content-type": "application/octet-stream" }
const tar = { "content-type": "application/x-tar" }
const edit = { expectedSha256: "0".repeat(64), oldText: "a", newText: "b" }
const argv = { argv: ["echo", "hello"] }

/** Each endpoint that costs, except create, under a Sandbox; each with a valid request. */
const costing: ReadonlyArray<{ method: string; path: string; ask: () => Ask }> = [
  { method: "POST", path: "/start", ask: () => ({ body: {} }) },
  { method: "POST", path: "/execute", ask: () => ({ body: argv }) },
  { method: "POST", path: "/operations", ask: () => ({ body: argv, headers: { "idempotency-key": randomUUID() } }) },
  { method: "PUT", path: `/files/content${fileQuery}`, ask: () => ({ body: "text", headers: octets }) },
  { method: "PATCH", path: `/files/content${fileQuery}`, ask: () => ({ body: edit }) },
  { method: "POST", path: `/files/directory${fileQuery}`, ask: () => ({ body: {} }) },
  { method: "POST", path: `/files/rename${fileQuery}`, ask: () => ({ body: { destination: "/workspace/b" } }) },
  { method: "POST", path: `/files/archive${fileQuery}`, ask: () => ({ body: "tar", headers: tar }) }
]

/** The account's wallet is not used: these tests plan when its credit ends. */
const ownPlans = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`create table planned (account_id text primary key, at bigint)`
    yield* sql`
      create function keep_planned() returns trigger language plpgsql as $$
      begin
        select max(p.at) into new.exhausted_at from planned p where p.account_id = new.id;
        return new;
      end $$`
    yield* sql`create trigger keep_planned before update on accounts for each row execute function keep_planned()`
  })
)

/** A new funded account with one running Sandbox. */
const newTenant = async (api: TestApi["Service"], context: Context.Context<SqlClient.SqlClient>) => {
  const sql = Context.get(context, SqlClient.SqlClient)
  const name = randomUUID()
  const key = (await api.newKey(scopes, name)).secret
  const workspaceId = await api.newWorkspace(key)
  const sandboxId = await api.newSandbox(workspaceId, key)
  const send = (method: string, target: string, ask: Ask = {}) =>
    api.send(method, `/api/v2/sandboxes${target}`, { key, ...ask })
  const { account } = (await api.send("GET", "/api/v2/me", { key })).json
  /** @param at Epoch milliseconds; null: the credit does not end. */
  const plan = (at: number | null, settled = true) =>
    Effect.runPromise(
      sql`
        insert into planned values (${account.id}, ${at === null ? null : BigInt(at)})
        on conflict (account_id) do update set at = excluded.at`.pipe(
        Effect.andThen(sql`update accounts set billing = 'prepaid' where id = ${account.id}`),
        Effect.andThen(settled ? awaitLeases : Effect.void)
      )
    )
  return {
    key,
    workspaceId,
    sandboxId,
    accountId: account.id as string,
    send,
    create: (idempotencyKey: string = randomUUID(), workspace = workspaceId) =>
      send("POST", "", { body: { workspaceId: workspace }, headers: { "idempotency-key": idempotencyKey } }),
    plan,
    exhaust: () => plan(Date.now()),
    /** As committed; the wallet starts and stops by itself. */
    count: (table: "actors" | "idempotency_keys") =>
      Effect.runPromise(
        Effect.map(
          sql<{
            n: number
          }>`select count(*)::int4 as n from ${sql(table)} where account_id = ${account.id} and kind <> 'wallet'`,
          ([row]) => row!.n
        )
      )
  }
}

const withTenant = <A>(test: (tenant: Awaited<ReturnType<typeof newTenant>>, api: TestApi["Service"]) => Promise<A>) =>
  Effect.gen(function* () {
    const api = yield* TestApi
    const context = yield* Effect.context<SqlClient.SqlClient>()
    return yield* Effect.promise(async () => test(await newTenant(api, context), api))
  })

const service = ownPlans.pipe(Layer.provideMerge(TestApi.layer({ ATOLL_SANDBOXES_PER_ACCOUNT: "8" })))

layer(service, { excludeTestServices: true })("credit", (it) => {
  it.effect(
    "that is used up refuses every call that costs with 402, in every process; restored credit refuses none",
    () =>
      withTenant(async ({ send, create, exhaust, plan, sandboxId, key }, { second }) => {
        const before = await Promise.all(
          costing.map(({ method, path, ask }) => send(method, `/${sandboxId}${path}`, ask()))
        )
        for (const { status, text } of before) assert.notStrictEqual(status, 402, text)
        await exhaust()
        for (const { method, path, ask } of costing) {
          for (const asked of [
            send,
            (m: string, p: string, a: Ask) => sendTo(second.port, key)(m, `/api/v2/sandboxes${p}`, a)
          ]) {
            const refused = await asked(method, `/${sandboxId}${path}`, ask())
            assert.deepStrictEqual([refused.status, refused.json.code], [402, "CREDIT_EXHAUSTED"], path)
            assert.deepStrictEqual(Object.keys(refused.json), ["code", "message", "requestId", "details"])
          }
        }
        const refused = await create()
        assert.deepStrictEqual([refused.status, refused.json.code], [402, "CREDIT_EXHAUSTED"])
        await plan(null)
        for (const { method, path, ask } of costing) {
          assert.notStrictEqual((await send(method, `/${sandboxId}${path}`, ask())).status, 402, path)
        }
        assert.strictEqual((await create()).status, 202)
      })
  )

  it.effect("that ends at a planned instant refuses from that instant on and not before, with nothing written", () =>
    withTenant(async ({ send, create, plan, sandboxId }) => {
      const execute = () => send("POST", `/${sandboxId}/execute`, { body: argv })
      // A slow machine gets longer, until some calls were answered before the instant.
      for (let answeredBefore = 0, withinMs = 1500; answeredBefore <= 3; withinMs *= 2) {
        const at = Date.now() + withinMs
        await plan(at)
        const seen: Array<{ began: number; ended: number; status: number }> = []
        while (Date.now() < at + 200) {
          const began = Date.now()
          const { status } = await execute()
          seen.push({ began, ended: Date.now(), status })
        }
        for (const { began, ended, status } of seen) {
          if (ended < at) assert.strictEqual(status, 200)
          if (began >= at) assert.strictEqual(status, 402)
        }
        answeredBefore = seen.filter(({ ended }) => ended < at).length
      }
      assert.strictEqual((await create()).status, 402)
    })
  )

  it.effect("is never needed to read, stop, cancel, close, remove or delete, nor for calls that cost nothing", () =>
    withTenant(async ({ send, exhaust, sandboxId, key }, api) => {
      const operation = await send("POST", `/${sandboxId}/operations`, {
        body: { argv: hang },
        headers: { "idempotency-key": "hang" }
      })
      const operationId: string = operation.json.operation.id
      const one = `/${sandboxId}`
      await exhaust()
      const free: ReadonlyArray<readonly [string, string, Ask?]> = [
        ["GET", ""],
        ["GET", one],
        ["GET", `${one}/transitions`],
        ["GET", `${one}/operations`],
        ["GET", `${one}/operations/${operationId}`],
        ["GET", `${one}/operations/${operationId}/output?stream=stdout&offset=0`],
        ["GET", `${one}/operations/${operationId}/transitions`],
        ["GET", `${one}/operations/${operationId}/declined`],
        ["POST", `${one}/operations/${operationId}/wait`, { body: { timeoutSeconds: 0 } }],
        ["POST", `${one}/operations/${operationId}/cancel`],
        ["GET", `${one}/logs`],
        ["GET", `${one}/analytics`],
        ["GET", `${one}/processes`],
        ["GET", `${one}/files/stat${fileQuery}`],
        ["GET", `${one}/files/content${fileQuery}`],
        ["GET", `${one}/files/list${fileQuery}`],
        ["DELETE", `${one}/files${fileQuery}`],
        ["POST", `${one}/previews`, { body: { port: 3000 } }],
        ["POST", `${one}/stop`],
        ["DELETE", one]
      ]
      for (const [method, target, ask] of free) {
        assert.notInclude([402, 403, 500], (await send(method, target, ask)).status, `${method} ${target}`)
      }
      for (const target of ["/me", "/workspaces", "/usage/audit"]) {
        assert.strictEqual((await api.send("GET", `/api/v2${target}`, { key })).status, 200, target)
      }
      assert.match(await api.newWorkspace(key), /^wsp_/)
      assert.strictEqual((await send("GET", one)).json.sandbox.status, "deleted")
    })
  )

  it.effect("is checked after key, scope, media type, size, shape and ownership", () =>
    withTenant(async ({ send, create, exhaust, sandboxId }, api) => {
      await exhaust()
      const { secret: stranger } = await api.newKey(scopes, randomUUID())
      const { secret: reader } = await api.newKey(["sandbox:read"])
      for (const { method, path, ask } of costing) {
        const call = `${method} ${path}`
        const at = `/${sandboxId}${path}`
        const whole = ask()
        const code = async (over: Ask, target = at) => (await send(method, target, { ...whole, ...over })).json.code
        assert.strictEqual(await code({ key: null }), "UNAUTHENTICATED", call)
        assert.strictEqual(await code({ key: reader }), "SCOPE_REQUIRED", call)
        assert.strictEqual(await code({ key: stranger }), "NOT_FOUND", call)
        assert.strictEqual(await code({}, `/sbx_00000000000000000000000000${path}`), "NOT_FOUND", call)
        const headers = { ...whole.headers, "content-type": "text/plain" }
        assert.strictEqual(await code({ headers, body: whole.body }), "UNSUPPORTED_MEDIA_TYPE", call)
        // An archive may have any size, and is not read before the check.
        if (path.startsWith("/files/archive")) continue
        const tooLarge = { ...whole.headers, "content-length": String(9 * 1024 * 1024) }
        assert.strictEqual(
          await code({ headers: tooLarge, body: "x".repeat(9 * 1024 * 1024) }),
          "PAYLOAD_TOO_LARGE",
          call
        )
        if (method !== "PUT") {
          assert.strictEqual(await code({ body: { ...(whole.body as object), unknown: 1 } }), "INVALID_REQUEST", call)
        }
        if (path.includes("/files/")) {
          const outside = at.replace(fileQuery, `?path=${encodeURIComponent("/etc/passwd")}`)
          assert.strictEqual(await code({}, outside), "INVALID_PATH", call)
        }
        assert.strictEqual(await code({}), "CREDIT_EXHAUSTED", call)
      }
      const elsewhere = await create(randomUUID(), "wsp_00000000000000000000000000")
      assert.deepStrictEqual([elsewhere.status, elsewhere.json.code], [404, "NOT_FOUND"])
    })
  )

  it.effect("is checked before the state of the Sandbox and before limits", () =>
    withTenant(async ({ send, create, exhaust, plan, sandboxId }) => {
      await send("POST", `/${sandboxId}/stop`)
      const stopped = costing.filter(({ path }) => path !== "/start")
      for (const { method, path, ask } of stopped) {
        assert.include([502, 503], (await send(method, `/${sandboxId}${path}`, ask())).status, path)
      }
      while ((await create()).status === 202);
      assert.strictEqual((await create()).json.code, "SANDBOX_LIMIT_REACHED")
      await exhaust()
      for (const { method, path, ask } of costing) {
        assert.strictEqual((await send(method, `/${sandboxId}${path}`, ask())).status, 402, path)
      }
      assert.strictEqual((await create()).status, 402)
      assert.strictEqual((await send("GET", `/${sandboxId}`)).json.sandbox.status, "stopped")
      await plan(null)
      await send("DELETE", `/${sandboxId}`)
      await exhaust()
      // A deleted Sandbox is 404 with and without credit.
      for (const { method, path, ask } of costing) {
        assert.strictEqual((await send(method, `/${sandboxId}${path}`, ask())).status, 404, path)
      }
    })
  )

  it.effect("changes neither the answer of a replay nor a conflict", () =>
    withTenant(async ({ send, create, exhaust, sandboxId }) => {
      const operation = (command: object) =>
        send("POST", `/${sandboxId}/operations`, { body: command, headers: { "idempotency-key": "operation" } })
      const start = () => send("POST", `/${sandboxId}/start`, { headers: { "idempotency-key": "start" } })
      const made = await create("sandbox")
      const begun = await operation(argv)
      assert.strictEqual((await start()).status, 201)
      await exhaust()
      const replayed = await create("sandbox")
      assert.include([201, 202], replayed.status)
      assert.strictEqual(replayed.json.sandbox.id, made.json.sandbox.id)
      const again = await operation(argv)
      assert.deepStrictEqual([again.status, again.json.operation.id], [202, begun.json.operation.id])
      const other = await operation({ argv: ["echo", "other"] })
      assert.deepStrictEqual([other.status, other.json.code], [409, "IDEMPOTENCY_CONFLICT"])
      const started = await start()
      assert.deepStrictEqual([started.status, started.json.sandbox.status], [201, "running"])
    })
  )

  it.effect("that is missing stores nothing of the refused call: its key makes the resource once there is credit", () =>
    withTenant(async ({ send, create, exhaust, plan, sandboxId, count }) => {
      const before = [await count("actors"), await count("idempotency_keys")]
      await exhaust()
      const calls = () => [
        create("later"),
        send("POST", `/${sandboxId}/operations`, { body: argv, headers: { "idempotency-key": "later" } }),
        send("POST", `/${sandboxId}/start`, { headers: { "idempotency-key": "later" } })
      ]
      for (const { status } of await Promise.all(calls())) assert.strictEqual(status, 402)
      assert.deepStrictEqual([await count("actors"), await count("idempotency_keys")], before)
      await plan(null)
      assert.deepStrictEqual(
        (await Promise.all(calls())).map(({ status }) => status),
        [202, 202, 201]
      )
    })
  )

  it.effect("is checked in a create's transaction, so that a fresh lease of the key lets no create through", () =>
    withTenant(async ({ send, create, plan }) => {
      for (let round = 0; round < 5; round++) {
        assert.strictEqual((await send("GET", "")).status, 200)
        await plan(Date.now(), false)
        assert.strictEqual((await create()).status, 402)
        await plan(null, false)
        assert.notStrictEqual((await create()).status, 402)
      }
    })
  )

  it.effect("that ends among many creates leaves each of them whole or refused", () =>
    withTenant(async ({ send, create, plan, count }) => {
      const kept = await count("idempotency_keys")
      const creates = Array.from({ length: 6 }, (_, at) => create(`race-${at}`))
      await plan(Date.now(), false)
      const answers = await Promise.all(creates)
      const made = answers.filter(({ status }) => status === 202).map(({ json }) => json.sandbox.id as string)
      for (const { status, json } of answers) {
        if (status !== 202) assert.deepStrictEqual([status, json.code], [402, "CREDIT_EXHAUSTED"])
      }
      assert.strictEqual((await create()).status, 402)
      const listed = (await send("GET", "")).json.sandboxes as Array<{ id: string }>
      assert.includeMembers(
        listed.map(({ id }) => id),
        made
      )
      assert.strictEqual(listed.length, made.length + 1)
      assert.strictEqual(await count("idempotency_keys"), kept + made.length)
    })
  )
})
