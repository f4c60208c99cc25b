/**
 * The history of everything that lives or lived in a Sandbox: complete, in pages, equal to the stream, and at a cost
 * that follows the page's size.
 */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { SandboxHistory } from "../../../../schemas/Transition.ts"
import { sandboxHistory } from "../../../../src/sandbox/sandboxHistory.ts"
import { exit, hang } from "../../../support/http/commands.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { rowsRead, settle } from "../../../support/rowsRead.ts"

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"

type Told = SandboxHistory["transitions"][number]

/** Everything that can live in a Sandbox, some of it ended. Returns when each resource has sent its last event. */
const lived = async (api: TestApi["Service"]) => {
  const id = await api.newSandbox(await api.newWorkspace())
  const path = `/api/v2/sandboxes/${id}`
  const send = (method: string, call: string, body?: object) =>
    api.send(method, `${path}${call}`, {
      ...(body === undefined ? {} : { body }),
      headers: { "idempotency-key": randomUUID() }
    })
  const client = new EventClient(api.port, `${path}/events`, { authorization: `Bearer ${api.key}` })
  await client.until(() => client.lastEventId !== null)
  const { operation } = (await send("POST", "/operations", { argv: hang })).json
  const { preview } = (await send("POST", "/previews", { port: 3000 })).json
  await send("POST", "/services", { requested_at: new Date().toISOString(), ports: [80] })
  await send("POST", "/cooperative-connection", { publicKeys: [publicKey] })
  for (let count = 0; count < 3; count++) await send("POST", "/execute", { argv: ["true"] })
  const second = (await send("POST", "/operations", { argv: exit(3) })).json.operation
  await send("POST", `/operations/${second.id}/wait`, { timeoutSeconds: 5 })
  await send("DELETE", `/previews/${preview.id}`)
  await send("POST", `/operations/${operation.id}/cancel`)
  const told = () =>
    client.transitions.map(({ data }) => data).filter(({ kind }: { kind: string }) => kind !== "sandbox")
  const has = (kind: string, to: string) => told().some((one: Told) => one.kind === kind && one.to === to)
  await client.until(
    () =>
      has("operation", "completed") &&
      has("operation", "cancelled") &&
      has("preview", "closed") &&
      has("serviceAccess", "active") &&
      has("connectionGrant", "granted") &&
      told().some(({ event }: Told) => event.type === "TREE_SETTLED")
  )
  client.close()
  return { id, path, send, told: told() as ReadonlyArray<Told>, operationIds: [operation.id, second.id] as const }
}

const keyOf = ({ actorId, revision }: Told) => `${actorId} ${revision}`

layer(TestApi.layer({ ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }), {
  excludeTestServices: true
})("the history of a Sandbox", (it) => {
  it.effect("has each transition that the stream had, resource by resource, for every page size", () =>
    Effect.flatMap(TestApi, (api) =>
      Effect.promise(async () => {
        const { path, told, operationIds } = await lived(api)
        const ask = async (query: string) => {
          const answer = await api.send("GET", `${path}/history${query}`)
          assert.strictEqual(answer.status, 200, answer.text)
          return Schema.decodeUnknownSync(SandboxHistory)(answer.json)
        }
        const whole = (await ask("?limit=1000")).transitions
        assert.deepStrictEqual([...new Set(whole.map(({ kind }) => kind))].sort(), [
          "connectionGrant",
          "operation",
          "preview",
          "serviceAccess"
        ])
        // The preview's first transition is written in a separate transaction: within one millisecond the order is that
        // of the ids.
        assert.deepStrictEqual(
          whole.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)),
          told.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
        )
        const byThing = Map.groupBy(whole, ({ actorId }) => actorId)
        assert.deepStrictEqual(whole, [...byThing.values()].flat(), "the steps of a thing are together")
        const begun = [...byThing.values()].map((steps) => {
          assert.deepStrictEqual(
            steps.map(({ revision }) => revision),
            steps.map((_, index) => index + 1)
          )
          return Date.parse(steps[0]!.at)
        })
        assert.deepStrictEqual(
          begun,
          begun.toSorted((a, b) => b - a),
          "the newest first"
        )
        assert.isBelow([...byThing.keys()].indexOf(operationIds[1]), [...byThing.keys()].indexOf(operationIds[0]))
        for (const limit of [1, 2, 5]) {
          const pages: Array<Told> = []
          for (let cursor: string | null = ""; cursor !== null; ) {
            const page: SandboxHistory = await ask(
              `?limit=${limit}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
            )
            assert.isAtMost(page.transitions.length, limit)
            pages.push(...page.transitions)
            cursor = page.nextCursor
          }
          assert.deepStrictEqual(pages, whole, `pages of ${limit}`)
        }
      })
    )
  )

  it.effect("is visible to its account only, needs the scope to read, and outlives the Sandbox", () =>
    Effect.flatMap(TestApi, (api) =>
      Effect.promise(async () => {
        const { path, send } = await lived(api)
        const before = (await api.send("GET", `${path}/history?limit=1000`)).json.transitions
        const other = await api.newKey(["sandbox:read"], "other")
        assert.strictEqual((await api.send("GET", `${path}/history`, { key: other.secret })).status, 404)
        const narrow = await api.newKey(["sandbox:execute"])
        assert.strictEqual((await api.send("GET", `${path}/history`, { key: narrow.secret })).status, 403)
        for (const cursor of ["nonsense", Buffer.from("1:a:b").toString("base64url")]) {
          const wrong = await api.send("GET", `${path}/history?cursor=${cursor}`)
          assert.deepStrictEqual([wrong.status, wrong.json.details.issues[0].path], [400, ["cursor"]])
        }
        await send("DELETE", "")
        const after = (await api.send("GET", `${path}/history?limit=1000`)).json.transitions
        assert.isAbove(after.length, before.length)
        assert.isTrue(after.some(({ event }: Told) => event.type === "SANDBOX_ENDED"))
      })
    )
  )

  it.effect("reads no more rows than a page holds, however long it is", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const things = 4000
      for (const [kind, prefix, steps] of [
        ["operation", "op_", 3],
        ["serviceAccess", "sva_", 40]
      ] as const) {
        yield* sql`
          insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
          select ${prefix} || lpad(n::text, 8, '0'), ${kind}, 'acc_long', 'sbx_long', 1, ${BigInt(steps)}::int8, '{}'::jsonb,
            '{"value": "failed", "context": {}}'::jsonb, n
          from generate_series(1, ${things}::int4) n`
        yield* sql`
          insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, commit_token)
          select ${prefix} || lpad(n::text, 8, '0'), r, n + r, '{"type": "X"}'::jsonb, null, 'failed', '[]'::jsonb, 'test', ''
          from generate_series(1, ${things}::int4) n, generate_series(1, ${steps}::int4) r`
      }
      yield* settle("actors")
      yield* settle("transitions")
      const page = (cursor: string | null) =>
        rowsRead(
          "transitions",
          rowsRead("actors", sandboxHistory("acc_long", "sbx_long", { limit: 100, cursor, era: "era" }))
        )
      let cursor: string | null = null
      for (let count = 0; count < 3; count++) {
        const { result, rows }: Effect.Success<ReturnType<typeof page>> = yield* page(cursor)
        assert.lengthOf(result.result.transitions, 100)
        assert.isAtMost(result.rows, 4 * 101, "things")
        assert.isAtMost(rows, 200, "transitions")
        cursor = result.result.nextCursor
      }
    })
  )
})
