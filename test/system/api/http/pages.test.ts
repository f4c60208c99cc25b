/**
 * Every paged list, with page sizes from 1: an item that exists throughout is listed exactly once, in one order, though
 * some items have equal times and others appear and vanish between two pages.
 */
import { randomUUID } from "node:crypto"
import { setTimeout as sleep } from "node:timers/promises"
import { assert, layer } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { scopes } from "../../../../schemas/Access.ts"
import { exit } from "../../../support/http/commands.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { anyReference } from "../../../support/image/anyReference.ts"
import { untilFound } from "../../../support/until.ts"

/**
 * How often items appear and vanish in one walk: lists that are read from their oldest end would otherwise never end.
 */
const disturbancesMax = 2

/** For a list of so many items: each small page size, and those around the whole. */
const pageSizes = (length: number): ReadonlyArray<number> => [
  ...new Set([...Array.from({ length: 12 }, (_, index) => index + 1), length - 1, length, length + 1])
]

// biome-ignore lint/suspicious/noExplicitAny: entries of every shape
type Entry = any

/** A list as one Sandbox's account reads it, and the changes that may happen to it between two pages. */
interface Paged {
  /** In the OpenAPI description. */
  readonly template: string
  readonly path: string
  /** Absent: the account that owns the Sandbox. */
  readonly key?: string
  /** The query's parameters beside limit and cursor. */
  readonly filter?: string
  readonly entries: string
  readonly idOf: (entry: Entry) => string
  /** The least number of items: page sizes go to one more than the list has. */
  readonly least: number
  /** Makes an item that the walk may omit. */
  readonly appear: () => Promise<unknown>
  /** Removes an item that existed when the walk began, if items of this list can be removed. */
  readonly vanish?: () => Promise<unknown>
}

const withTenant = (
  test: (
    tenant: {
      readonly accountId: string
      readonly send: (
        method: string,
        path: string,
        body?: object,
        key?: string
      ) => ReturnType<TestApi["Service"]["send"]>
    },
    api: TestApi["Service"],
    sql: <A>(effect: (sql: SqlClient.SqlClient) => Effect.Effect<A, unknown>) => Promise<A>
  ) => Promise<void>
) =>
  Effect.contextWith((context: Context.Context<TestApi | SqlClient.SqlClient>) =>
    Effect.promise(async () => {
      const api = Context.get(context, TestApi)
      const { secret: key } = await api.newKey(scopes, randomUUID())
      const send = (method: string, path: string, body?: object, another = key) =>
        api.send(method, `/api/v2${path}`, {
          key: another,
          headers: { "idempotency-key": randomUUID() },
          ...(body === undefined ? {} : { body })
        })
      const { account } = (await send("GET", "/me")).json
      const sql = Context.get(context, SqlClient.SqlClient)
      await test({ accountId: account.id, send }, api, (effect) => Effect.runPromise(Effect.orDie(effect(sql))))
    })
  )

layer(
  TestApi.layer({
    ATOLL_SANDBOXES_PER_ACCOUNT: "500",
    ATOLL_IMAGES_PER_ACCOUNT: "500",
    ATOLL_VOLUME_BYTES: "67108864"
  }),
  {
    excludeTestServices: true
  }
)("pages", (it) => {
  it.effect("of every list add up to it, for every page size", () =>
    withTenant(async ({ accountId, send }, api, sql) => {
      const made = async (call: ReturnType<typeof send>) => {
        const answer = await call
        assert.oneOf(answer.status, [200, 201, 202, 204], answer.text)
        return answer.json
      }
      const { workspace } = await made(send("POST", "/workspaces", { name: "pages" }))
      const newSandbox = async (): Promise<string> =>
        (await made(send("POST", "/sandboxes?wait=running", { workspaceId: workspace.id }))).sandbox.id
      const sandboxIds = [await newSandbox()]
      for (let count = 0; count < 5; count++) sandboxIds.push(await newSandbox())
      const fleeting = [await newSandbox(), await newSandbox(), await newSandbox()]
      const id = sandboxIds[0]!
      const sandbox = `/sandboxes/${id}`
      const operate = async () => {
        const { operation } = await made(send("POST", `${sandbox}/operations`, { argv: exit(0) }))
        await made(send("POST", `${sandbox}/operations/${operation.id}/wait`, { timeoutSeconds: 20 }))
        return operation.id as string
      }
      const operationId = await operate()
      for (let count = 0; count < 4; count++) await operate()
      const snap = async (): Promise<string> => (await made(send("POST", `${sandbox}/snapshots`))).snapshot.id
      const snapshotId = await snap()
      for (let count = 0; count < 4; count++) await snap()
      await untilFound(async () => (await made(send("GET", `/snapshots/${snapshotId}`))).snapshot.status === "ready")
      const pullOne = async (): Promise<string> =>
        (await made(send("POST", "/images", { reference: anyReference }))).image.id
      const imageId = await pullOne()
      for (let count = 0; count < 4; count++) await pullOne()
      await untilFound(async () => (await made(send("GET", `/images/${imageId}`))).image.status !== "pulling")
      const copy = () => made(send("POST", "/sandboxes", { workspaceId: workspace.id, snapshotId }))
      for (let count = 0; count < 5; count++) await copy()
      // Nothing is charged, so no posting comes between.
      const { secret: saver } = await api.newKey(scopes, randomUUID())
      const saverId = (await made(send("GET", "/me", undefined, saver))).account.id as string
      const post = () =>
        sql(
          (sql) => sql`
              insert into ledger_entries (id, account_id, number, at, posted_at, kind, micro_usd, balance_micro_usd, description)
              select 'txn_' || md5(${saverId}::text || n), ${saverId}, n, 1, 1, 'expiry', -1, -n, 'entry'
              from (select coalesce(max(number), 0) + 1 as n from ledger_entries where account_id = ${saverId}) e`
        )
      for (let count = 0; count < 6; count++) await post()
      // Items of one step, as retention and services of an earlier version leave them, among items of several; and
      // ties.
      await sql(
        (sql) => sql`
            insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
            select 'sva_' || lpad(n::text, 8, '0'), 'serviceAccess', ${accountId}, ${id}, 1, 1, '{}'::jsonb,
              '{"value": "expired", "context": {}}'::jsonb, n / 3
            from generate_series(1, 9) n`
      )
      await sql(
        (sql) => sql`
            insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
            select 'sva_' || lpad(n::text, 8, '0'), 1, n, '{"type": "X"}'::jsonb, null, 'expired', '[]'::jsonb, 'test', ''
            from generate_series(1, 9) n`
      )
      for (const kind of ["sandbox", "operation", "snapshot", "image"]) {
        await sql(
          (
            sql
          ) => sql`update actors set created_at = (select min(created_at) from actors where account_id = ${accountId} and kind = ${kind})
              where account_id = ${accountId} and kind = ${kind}`
        )
      }
      const audited = async () => {
        await made(send("POST", `${sandbox}/execute`, { argv: exit(0) }))
        await api.auditWritten()
      }
      for (let count = 0; count < 6; count++) await audited()
      await sql((sql) => sql`update audit_events set at = 10000 * (at / 10000) where account_id = ${accountId}`)

      const lists: ReadonlyArray<Paged> = [
        {
          template: "/api/v2/sandboxes",
          path: "/sandboxes",
          filter: "&status=running",
          entries: "sandboxes",
          idOf: (entry) => entry.id,
          least: 6,
          appear: newSandbox,
          vanish: async () => {
            const gone = fleeting.pop()
            if (gone !== undefined) await made(send("DELETE", `/sandboxes/${gone}`))
          }
        },
        {
          template: "/api/v2/sandboxes/{id}/operations",
          path: `${sandbox}/operations`,
          entries: "operations",
          idOf: (entry) => entry.id,
          least: 5,
          appear: operate
        },
        {
          template: "/api/v2/sandboxes/{id}/transitions",
          path: `${sandbox}/transitions`,
          entries: "transitions",
          idOf: (entry) => String(entry.revision),
          least: 2,
          appear: () => made(send("PATCH", sandbox, { metadata: { one: randomUUID() } }))
        },
        {
          template: "/api/v2/sandboxes/{id}/operations/{operationId}/transitions",
          path: `${sandbox}/operations/${operationId}/transitions`,
          entries: "transitions",
          idOf: (entry) => String(entry.revision),
          least: 3,
          appear: async () => {}
        },
        {
          template: "/api/v2/sandboxes/{id}/history",
          path: `${sandbox}/history`,
          entries: "transitions",
          idOf: (entry) => `${entry.actorId} ${entry.revision}`,
          least: 24,
          appear: operate
        },
        {
          template: "/api/v2/snapshots",
          path: "/snapshots",
          entries: "snapshots",
          idOf: (entry) => entry.id,
          least: 5,
          appear: snap
        },
        {
          template: "/api/v2/snapshots/{id}/transitions",
          path: `/snapshots/${snapshotId}/transitions`,
          entries: "transitions",
          idOf: (entry) => String(entry.revision),
          least: 2,
          appear: () => made(send("PATCH", `/snapshots/${snapshotId}`, { name: randomUUID() }))
        },
        {
          template: "/api/v2/images",
          path: "/images",
          entries: "images",
          idOf: (entry) => entry.id,
          least: 5,
          appear: pullOne
        },
        {
          template: "/api/v2/images/{id}/transitions",
          path: `/images/${imageId}/transitions`,
          entries: "transitions",
          idOf: (entry) => String(entry.revision),
          least: 2,
          appear: async () => {}
        },
        {
          template: "/api/v2/sandboxes/{id}/lineage",
          path: `${sandbox}/lineage`,
          entries: "children",
          idOf: (entry) => entry.sandboxId,
          least: 5,
          appear: copy
        },
        {
          template: "/api/v2/usage/transactions",
          path: "/usage/transactions",
          key: saver,
          entries: "transactions",
          idOf: (entry) => entry.id,
          least: 6,
          appear: post
        },
        {
          template: "/api/v2/usage/audit",
          path: "/usage/audit",
          filter: "&action=execute",
          entries: "events",
          idOf: (entry) => entry.id,
          least: 6,
          appear: audited
        }
      ]

      const walk = async (
        { path, key, filter = "", entries, idOf }: Paged,
        limit: number,
        between: (page: number) => Promise<unknown>
      ): Promise<ReadonlyArray<string>> => {
        const told: Array<string> = []
        let pages = 0
        for (let cursor: string | null = ""; cursor !== null; ) {
          const page = await made(
            send("GET", `${path}?limit=${limit}${filter}${cursor && `&cursor=${cursor}`}`, undefined, key)
          )
          assert.isAtMost(page[entries].length, limit, path)
          // An empty page has no next one; a page that has a next one is full.
          if (page.nextCursor !== null) assert.lengthOf(page[entries], limit, path)
          told.push(...page[entries].map(idOf))
          cursor = page.nextCursor
          pages += 1
          assert.isBelow(pages, 2000, `${path} does not end`)
          if (cursor !== null) await between(pages)
        }
        return told
      }
      const whole = (list: Paged) => walk(list, 1000, async () => {})

      const described = (await api.send("GET", "/api/v2/openapi.json")).json.paths as Record<string, Entry>
      const inPages = Object.entries(described).flatMap(([path, { get }]) =>
        get?.parameters?.some(({ name }: { readonly name: string }) => name === "cursor") ? [path] : []
      )
      const files = ["/api/v2/sandboxes/{id}/files/content", "/api/v2/sandboxes/{id}/files/list"]
      assert.sameMembers(
        inPages,
        [...lists.map(({ template }) => template), ...files],
        "files have suites of their own"
      )

      for (const list of lists) {
        const { length } = await whole(list)
        assert.isAtLeast(length, list.least, list.path)
        for (const limit of pageSizes(length)) {
          const before = await whole(list)
          let disturbances = 0
          const told = await walk(list, limit, async () => {
            if (disturbances++ >= disturbancesMax) return
            await list.appear()
            await list.vanish?.()
          })
          const after = new Set(await whole(list))
          const what = `${list.path} by ${limit}`
          assert.strictEqual(new Set(told).size, told.length, `${what}: told twice`)
          const throughout = before.filter((one) => after.has(one))
          const known = new Set(throughout)
          assert.deepStrictEqual(
            told.filter((one) => known.has(one)),
            throughout,
            `${what}: what was there throughout`
          )
        }
        // A page that ends exactly at the end of its list has no next one.
        const { length: all } = await whole(list)
        const { path, key, filter = "", entries } = list
        const page = await made(send("GET", `${path}?limit=${all}${filter}`, undefined, key))
        assert.lengthOf(page[entries], all, path)
        assert.isNull(page.nextCursor, path)
      }
    })
  )

  it.effect("of a log that is cut into intervals add up, though entries have equal times", () =>
    withTenant(async ({ send }, _, sql) => {
      const { workspace } = (await send("POST", "/workspaces", { name: "logs" })).json
      const { sandbox } = (await send("POST", "/sandboxes?wait=running", { workspaceId: workspace.id })).json
      for (let count = 0; count < 6; count++) {
        await send("POST", `/sandboxes/${sandbox.id}/execute`, { argv: ["echo", `line ${count}`] })
      }
      const logs = async (query: string) => {
        const { status, json, text } = await send("GET", `/sandboxes/${sandbox.id}/logs?${query}`)
        assert.strictEqual(status, 200, text)
        return json.logs as { entries: ReadonlyArray<Entry>; truncated: boolean }
      }
      // An answer of an execute does not wait for its output to be stored, and a later chunk would keep its time.
      const stored = (sql: SqlClient.SqlClient) =>
        sql<{
          readonly count: number
        }>`select count(*)::int4 as count from output_chunks where sandbox_id = ${sandbox.id}`
      while ((await sql(stored))[0]!.count < 6) await sleep(20)
      await sql((sql) => sql`update output_chunks set at = 10 * (at / 10) where sandbox_id = ${sandbox.id}`)
      const { entries } = await logs("limit=5000")
      assert.isAtLeast(entries.length, 6)
      const ids = (some: ReadonlyArray<Entry>) => some.map(({ at, text }) => `${at} ${text}`)
      for (let limit = 1; limit <= entries.length + 1; limit++) {
        const page = await logs(`limit=${limit}`)
        assert.deepStrictEqual(ids(page.entries), ids(entries.slice(-limit)), `the newest ${limit}`)
        assert.strictEqual(page.truncated, limit < entries.length)
      }
      const edges = [...new Set(entries.map(({ at }) => at as string))]
      const pieces = await Promise.all(
        [null, ...edges].map((since, index, all) => {
          const until = all[index + 1]
          return logs(`limit=5000${since === null ? "" : `&since=${since}`}${until == null ? "" : `&until=${until}`}`)
        })
      )
      assert.deepStrictEqual(ids(pieces.flatMap((piece) => piece.entries)), ids(entries))
    })
  )
})
