/**
 * Usage, costs and the wallet over HTTP: shapes, bounds, ownership, and the life of a Sandbox from its first boot to
 * its deletion.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { scopes } from "../../../../schemas/Access.ts"
import { Balance, Cost, costGroupings, Usage, WalletTransaction } from "../../../../schemas/Usage.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

const dayMs = 86_400_000
const reports = ["/usage", "/usage/costs"]
const all = [...reports, "/usage/balance", "/usage/transactions"]

interface Tenant {
  readonly accountId: string
  readonly key: string
  readonly get: (path: string, key?: string) => ReturnType<TestApi["Service"]["send"]>
}

const withTenant = <A>(
  test: (tenant: Tenant, api: TestApi["Service"], sql: SqlClient.SqlClient) => Promise<A>
): Effect.Effect<A, never, TestApi | SqlClient.SqlClient> =>
  Effect.contextWith((context: Context.Context<TestApi | SqlClient.SqlClient>) =>
    Effect.promise(async () => {
      const api = Context.get(context, TestApi)
      const { secret: key } = await api.newKey(scopes, randomUUID())
      const { account } = (await api.send("GET", "/api/v2/me", { key })).json
      const get = (path: string, own = key) => api.send("GET", `/api/v2${path}`, { key: own })
      return test({ accountId: account.id, key, get }, api, Context.get(context, SqlClient.SqlClient))
    })
  )

/** Entries as a posting writes them, numbered from 1. */
const insertEntries = (sql: SqlClient.SqlClient, accountId: string, first: number, count: number) =>
  Effect.runPromise(sql`
    insert into ledger_entries (id, account_id, number, at, posted_at, kind, micro_usd, balance_micro_usd, description)
    select 'txn_' || md5(${accountId}::text || n), ${accountId}, n, n, n, 'expiry', -1, -n, 'entry ' || n
    from generate_series(${first}::int4, ${first + count - 1}::int4) n`)

/** The costs below are of these. */
const size = { ATOLL_VOLUME_BYTES: String(4 * 1024 ** 3), ATOLL_SANDBOX_MEMORY_BYTES: String(512 * 1024 ** 2) }

layer(TestApi.layer(size), { excludeTestServices: true })("usage over HTTP", (it) => {
  it.effect("of a new account is a month of zeros, no CPU time, no costs and an empty wallet", () =>
    withTenant(async ({ get }) => {
      const { usage } = (await get("/usage")).json
      assert.isTrue(Schema.is(Usage)(usage))
      const now = new Date()
      const begin = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1))
      const end = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1))
      const { asOf, ...rest } = usage
      assert.isBelow(Math.abs(Date.parse(asOf) - Date.now()), 60_000)
      assert.deepStrictEqual(rest, {
        from: begin.toISOString(),
        to: end.toISOString(),
        sandboxSeconds: 0,
        vcpuSeconds: 0,
        memoryMibSeconds: 0,
        volumeMibSeconds: 0,
        snapshotMibSeconds: 0,
        cpuSeconds: null,
        operations: 0,
        executes: 0
      })
      for (const groupBy of costGroupings) {
        const costs = await get(`/usage/costs?groupBy=${groupBy}`)
        assert.deepStrictEqual([costs.status, costs.json.costs, costs.json.totalMicroUsd], [200, [], 0])
      }
      assert.deepStrictEqual((await get("/usage/transactions")).json, { transactions: [], nextCursor: null })
      const { balance } = (await get("/usage/balance")).json
      assert.isTrue(Schema.is(Balance)(balance))
      assert.deepStrictEqual(
        { ...balance, asOf: null },
        {
          currency: "USD",
          microUsd: 0,
          status: "unlimited",
          asOf: null,
          burnMicroUsdPerHour: 0,
          exhaustsAt: null,
          grants: []
        }
      )
    })
  )

  it.effect("needs the scope usage:read and no other; without a key it is 401", () =>
    withTenant(async ({ get }, api) => {
      const name = randomUUID()
      const { secret: reader } = await api.newKey(["usage:read"], name)
      const { secret: others } = await api.newKey(
        scopes.filter((scope) => scope !== "usage:read"),
        name
      )
      for (const path of all) {
        assert.strictEqual((await get(path, reader)).status, 200, path)
        const refused = await get(path, others)
        assert.deepStrictEqual([refused.status, refused.json.code], [403, "SCOPE_REQUIRED"], path)
        assert.strictEqual((await api.send("GET", `/api/v2${path}`, { key: null })).status, 401, path)
      }
    })
  )

  it.effect("refuses a malformed or too long window, unknown parameters and groupings", () =>
    withTenant(async ({ get }) => {
      const from = "2026-01-01T00:00:00Z"
      const refused = [
        ...reports.flatMap((path) => [
          `${path}?from=yesterday`,
          `${path}?from=2026-02-30T00:00:00Z`,
          `${path}?from=2026-01-01`,
          `${path}?from=1767225600000`,
          `${path}?from=${from}&to=${from}`,
          `${path}?from=${from}&to=2025-12-31T00:00:00Z`,
          `${path}?from=${from}&to=2027-02-05T00:00:00.001Z`,
          `${path}?from=${from}&from=${from}`,
          `${path}?since=${from}`
        ]),
        "/usage?groupBy=day",
        "/usage/costs?groupBy=month",
        "/usage/costs?groupBy=",
        "/usage/balance?from=2026-01-01T00:00:00Z",
        "/usage/transactions?limit=0",
        "/usage/transactions?limit=1001",
        "/usage/transactions?cursor=nonsense",
        `/usage/transactions?cursor=${Buffer.from("1:aud_00000000000000000000000000").toString("base64url")}`
      ]
      for (const path of refused) {
        const answer = await get(path)
        assert.deepStrictEqual([answer.status, answer.json.code], [400, "INVALID_REQUEST"], path)
      }
      for (const path of reports) {
        const widest = await get(`${path}?from=${from}&to=2027-02-05T00:00:00Z`)
        assert.strictEqual(widest.status, 200, widest.text)
        const shifted = await get(`${path}?from=2026-01-01T02:00:00%2B02:00&to=2026-01-01T00:00Z`)
        assert.strictEqual(shifted.json.details.issues[0].message, "Expected an instant before `to`")
      }
    })
  )

  it.effect("keeps pages of transactions as they are while others are added", () =>
    withTenant(async ({ get, accountId }, _, sql) => {
      await insertEntries(sql, accountId, 1, 25)
      const seen: Array<string> = []
      let cursor: string | null = null
      let next = 26
      do {
        const path: string = `/usage/transactions?limit=10${cursor === null ? "" : `&cursor=${cursor}`}`
        const { transactions, nextCursor } = (await get(path)).json
        for (const transaction of transactions) {
          seen.push(transaction.description)
        }
        cursor = nextCursor
        await insertEntries(sql, accountId, next, 5)
        next += 5
      } while (cursor !== null)
      assert.deepStrictEqual(
        seen,
        Array.from({ length: 25 }, (_, at) => `entry ${25 - at}`)
      )
      const newest = (await get("/usage/transactions?limit=1")).json.transactions[0]
      assert.deepStrictEqual(
        { ...newest, id: null },
        {
          id: null,
          at: "1970-01-01T00:00:00.040Z",
          postedAt: "1970-01-01T00:00:00.040Z",
          kind: "expiry",
          microUsd: -1,
          balanceMicroUsd: -40,
          sandboxId: null,
          snapshotId: null,
          imageId: null,
          period: null,
          description: "entry 40",
          grants: [],
          reversesId: null
        }
      )
    })
  )

  it.effect("refuses a list of costs beyond its bound, with a request that fits; it answers the bound itself", () =>
    withTenant(async ({ get, accountId }, _, sql) => {
      const day = Date.UTC(2026, 4, 5)
      const insert = (first: number, count: number) =>
        Effect.runPromise(sql`
          insert into segments (sandbox_id, number, account_id, workspace_id, from_at, to_at, sign, is_running, has_volume, vcpu_sum, memory_sum,
            volume_sum, vcpu_rate, memory_rate, volume_rate, vcpu_micro_usd, memory_micro_usd, volume_micro_usd, milli_vcpus, memory_bytes, volume_bytes)
          select 'sbx_' || md5(${accountId}::text || n), 0, ${accountId}, 'wsp', ${BigInt(day)}, ${BigInt(day + 1000)}, 1, true, true, 0, 0, 0,
            1000000000000, 0, 0, 1000000, 0, 0, 1000, 1, 1
          from generate_series(${first}::int4, ${first + count - 1}::int4) n`)
      await insert(1, 10_000)
      const path = "/usage/costs?from=2026-05-01T00:00:00Z&to=2026-06-01T00:00:00Z"
      const fits = (await get(path)).json
      assert.deepStrictEqual([fits.costs.length, fits.totalMicroUsd], [10_000, 10_000_000_000])
      await insert(10_001, 1)
      const refused = await get(path)
      assert.deepStrictEqual(
        [refused.status, refused.json.details.issues],
        [
          400,
          [
            {
              path: ["groupBy"],
              message:
                "More than 10000 groups (sandbox) have a cost in this window: ask for a shorter window, or group by day"
            }
          ]
        ]
      )
      const byDay = (await get(`${path}&groupBy=day`)).json
      assert.deepStrictEqual(
        [byDay.costs.map(({ key }: Cost) => key), byDay.totalMicroUsd],
        [["2026-05-05"], 10_001_000_000]
      )
    })
  )

  it.effect("covers the life of a Sandbox: its usage, the cost of that, and the wallet's debits", () =>
    withTenant(async ({ get, key, accountId }, api, sql) => {
      const other: Tenant["key"] = (await api.newKey(scopes, randomUUID())).secret
      const workspaceId = await api.newWorkspace(key)
      // Rates at which a millisecond is visible.
      await Effect.runPromise(sql`
        insert into rate_cards values (${BigInt(Date.now())}, 5000000000, 3000000000, 7000000, 0, 7000000) on conflict do nothing`)
      await Effect.runPromise(
        sql`insert into grants (id, account_id, kind, granted_micro_usd, remaining_micro_usd, effective_at, is_posted, description, created_at)
            values ('grt_test', ${accountId}, 'purchase', 900000000, 900000000, 0, false, 'paid', ${BigInt(Date.now())})`
      )
      const id = await api.newSandbox(workspaceId, key)
      await api.send("POST", `/api/v2/sandboxes/${id}/execute`, { key, body: { argv: ["echo", "hello"] } })
      await api.send("POST", `/api/v2/sandboxes/${id}/operations`, {
        key,
        body: { argv: ["echo", "hello"] },
        headers: { "idempotency-key": "o" }
      })
      const running = await untilFound(async () => {
        const { balance } = (await get("/usage/balance")).json
        return balance.microUsd !== 0 && balance.burnMicroUsdPerHour > 0 ? balance : null
      })
      assert.isTrue(Schema.is(Balance)(running), JSON.stringify(running))

      const grown = async () => (await get("/usage/costs")).json.totalMicroUsd as number
      const burning = (await get(`/usage/costs?groupBy=day&sandboxId=${id}`)).json
      assert.strictEqual(burning.burnMicroUsdPerHour, running.burnMicroUsdPerHour)
      const [first, second] = [await grown(), await untilFound(async () => ((await grown()) > 0 ? grown() : null))]
      assert.isAtLeast(second, first)

      await api.send("POST", `/api/v2/sandboxes/${id}/stop`, { key })
      await api.send("DELETE", `/api/v2/sandboxes/${id}`, { key })
      const closed = await untilFound(async () => {
        const { balance } = (await get("/usage/balance")).json
        const { costs } = (await get("/usage/costs")).json
        return balance.burnMicroUsdPerHour === 0 ? { costs: costs as ReadonlyArray<Cost>, balance } : null
      })
      assert.isTrue(Schema.is(Schema.Array(Cost))(closed.costs), JSON.stringify(closed.costs))

      const { usage } = (await get("/usage")).json
      assert.isTrue(Schema.is(Usage)(usage), JSON.stringify(usage))
      const { transitions } = (await get(`/sandboxes/${id}/transitions`)).json
      const at = (found: (transition: { from: string | null; to: string }) => boolean) =>
        Date.parse(transitions.find(found).at)
      const ran = at(({ from, to }) => from === "running" && to !== "running") - at(({ to }) => to === "running")
      const lived = at(({ to }) => to === "deleted") - at(({ to }) => to === "running")
      // Simulated machines measure nothing.
      if (!isOverAFleet) assert.isNull(usage.cpuSeconds)
      assert.deepStrictEqual(
        { ...usage, from: null, to: null, asOf: null, cpuSeconds: null },
        {
          from: null,
          to: null,
          asOf: null,
          sandboxSeconds: ran / 1000,
          vcpuSeconds: ran / 1000,
          memoryMibSeconds: (ran * 512) / 1000,
          volumeMibSeconds: (lived * 4096) / 1000,
          snapshotMibSeconds: 0,
          cpuSeconds: null,
          operations: 1,
          executes: 1
        }
      )

      const components = {
        vcpuMicroUsd: ran * 5000,
        memoryMicroUsd: ran * 1500,
        volumeMicroUsd: lived * 28,
        snapshotMicroUsd: 0
      }
      const microUsd = Object.values(components).reduce((sum, one) => sum + one)
      const cost = { microUsd, sandboxSeconds: ran / 1000, components }
      assert.deepStrictEqual(closed.costs, [{ key: id, name: null, ...cost }])
      const byWorkspace = (await get("/usage/costs?groupBy=workspace")).json
      assert.deepStrictEqual(byWorkspace.costs, [{ key: workspaceId, name: "test", ...cost }])
      const byDay = (await get("/usage/costs?groupBy=day")).json
      assert.strictEqual(byDay.totalMicroUsd, microUsd)
      const alone = (await get(`/usage/costs?groupBy=day&sandboxId=${id}`)).json
      assert.deepStrictEqual([alone.costs, alone.totalMicroUsd, alone.burnMicroUsdPerHour], [byDay.costs, microUsd, 0])
      for (const { key: day, name } of byDay.costs) {
        assert.deepStrictEqual([name, new Date(Date.parse(day)).toISOString().slice(0, 10)], [null, day])
        assert.isBelow(Date.now() - Date.parse(day), 2 * dayMs)
      }

      const { transactions } = (await get("/usage/transactions")).json as {
        transactions: ReadonlyArray<WalletTransaction>
      }
      assert.isTrue(Schema.is(Schema.Array(WalletTransaction))(transactions), JSON.stringify(transactions))
      const moved = transactions.reduce((sum, one) => sum + one.microUsd, 0)
      assert.deepStrictEqual([moved, transactions[0]!.balanceMicroUsd], [900_000_000 - microUsd, moved])
      for (const { kind, sandboxId, period, grants, microUsd: change } of transactions) {
        assert.deepStrictEqual(grants, [{ grantId: "grt_test", microUsd: change }])
        if (kind === "usage") assert.isTrue(sandboxId === id && period !== null)
        else assert.deepStrictEqual([kind, change, sandboxId, period], ["grant", 900_000_000, null, null])
      }
      assert.strictEqual(closed.balance.microUsd, moved)
      assert.deepStrictEqual(
        closed.balance.grants.map(
          ({ id: grantId, kind, remainingMicroUsd, expiresAt, status }: Balance["grants"][0]) => ({
            grantId,
            kind,
            remainingMicroUsd,
            expiresAt,
            status
          })
        ),
        [{ grantId: "grt_test", kind: "purchase", remainingMicroUsd: moved, expiresAt: null, status: "active" }]
      )

      for (const groupBy of costGroupings) {
        assert.deepStrictEqual((await get(`/usage/costs?groupBy=${groupBy}`, other)).json.costs, [])
        const theirs = (await get(`/usage/costs?groupBy=${groupBy}&sandboxId=${id}`, other)).json
        assert.deepStrictEqual([theirs.costs, theirs.totalMicroUsd], [[], 0])
      }
      const theirs = (await get("/usage", other)).json.usage
      assert.deepStrictEqual([theirs.volumeMibSeconds, theirs.operations, theirs.executes], [0, 0, 0])
      assert.deepStrictEqual((await get("/usage/transactions", other)).json.transactions, [])
      assert.deepStrictEqual((await get("/usage/balance", other)).json.balance.grants, [])
    })
  )
})
