/**
 * The audit log: every call of the account that may change something, with its outcome, in pages; no other account's
 * calls.
 */
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import fc from "fast-check"
import { scopes } from "../../../schemas/Access.ts"
import { type AuditEvent, AuditLog, type OperatorAction, operatorCommands } from "../../../schemas/Audit.ts"
import { insertEvents } from "../../../src/account/AuditRows.ts"
import { noteOperator } from "../../../src/account/OperatorAudit.ts"
import { newId } from "../../../src/platform/identifier/newId.ts"
import auditTable from "../../../src/store/migrations/0011_audit.ts"
import auditFields from "../../../src/store/migrations/0031_audit_fields.ts"
import { hang, hanging } from "../../support/http/commands.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const path = "/api/v2/usage/audit"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

/** Events appear within about a second: polls until there are as many. */
const events = async (
  send: TestApi["Service"]["send"],
  key: string,
  count: number
): Promise<ReadonlyArray<AuditEvent>> => {
  for (let at = 0; at < 1200; at++) {
    const { json, text } = await send("GET", path, { key })
    assert.isTrue(Schema.is(AuditLog)(json), text)
    if (json.events.length >= count) return json.events
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`There are not ${count} events.`)
}

layer(TestApi.layer(), { excludeTestServices: true })("the audit log", (it) => {
  it.effect("has each call that changes something, with key, outcome, request id and address, newest first", () =>
    withApi(async ({ send, newKey, sourceIp }) => {
      const name = randomUUID()
      const [full, reader] = await Promise.all([newKey(scopes, name), newKey(["sandbox:read"], name)])
      const call = (method: string, target: string, key: string, id: string, body?: unknown) =>
        send(method, `/api/v2${target}`, {
          key,
          ...(body === undefined ? {} : { body }),
          headers: { "x-request-id": id, "idempotency-key": id }
        })
      await call("POST", "/workspaces", full.secret, "made", { name: "x" })
      await call("POST", "/workspaces?secret=1", full.secret, "malformed", "{")
      await call("POST", "/workspaces", reader.secret, "denied", { name: "x" })
      await call("GET", "/workspaces", full.secret, "read")
      await call("HEAD", "/workspaces", full.secret, "head")
      await call("POST", "/workspaces", "unknown", "unauthenticated", { name: "x" })
      await call("DELETE", "/sandboxes/sbx_00000000000000000000000000", full.secret, "absent")
      await call("DELETE", "/auth", reader.secret, "revoked")
      const found = await events(send, full.secret, 5)
      assert.deepStrictEqual(
        found.map(({ requestId, method, path, status, apiKeyId }) => [requestId, method, path, status, apiKeyId]),
        [
          ["revoked", "DELETE", "/api/v2/auth", 204, reader.id],
          ["absent", "DELETE", "/api/v2/sandboxes/sbx_00000000000000000000000000", 404, full.id],
          ["denied", "POST", "/api/v2/workspaces", 403, reader.id],
          ["malformed", "POST", "/api/v2/workspaces", 400, full.id],
          ["made", "POST", "/api/v2/workspaces", 201, full.id]
        ]
      )
      for (const event of found) {
        assert.strictEqual(event.sourceIp, sourceIp)
        assert.strictEqual(event.keyHint?.length, 4)
        assert.isBelow(Math.abs(Date.now() - Date.parse(event.at)), 60_000)
      }
    })
  )

  it.effect("has a call whose client left before its answer", () =>
    withApi(async (api) => {
      const { secret } = await api.newKey(scopes, randomUUID())
      const id = await api.newSandbox(await api.newWorkspace(secret), secret)
      const before = (await events(api.send, secret, 3)).length
      const body = JSON.stringify({ argv: hang })
      const socket = connect(api.port, "127.0.0.1")
      socket.write(
        `POST /api/v2/sandboxes/${id}/execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      )
      const processes = () => api.send("GET", `/api/v2/sandboxes/${id}/processes`, { key: secret })
      while (!(await processes()).text.includes(JSON.stringify(hanging)));
      socket.destroy()
      const [last] = await events(api.send, secret, before + 1)
      assert.deepInclude(last, { method: "POST", path: `/api/v2/sandboxes/${id}/execute`, status: 499 })
    })
  )

  it.effect("is paged without gaps, and shows only the account's calls", () =>
    Effect.gen(function* () {
      const { send, newKey } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { secret, id } = yield* Effect.promise(() => newKey(["usage:read"], randomUUID()))
      const ids = Array.from({ length: 250 }, (_, at) => `aud_${String(at).padStart(26, "0")}`)
      yield* sql`
        insert into audit_events (id, account_id, at, api_key_id, key_hint, method, path, status, request_id, source_ip)
        select e, k.account_id, 1, k.id, k.hint, 'POST', '/x', 200, 'r', '::1'
        from api_keys k, unnest(${ids}::text[]) as e where k.id = ${id}`
      yield* Effect.promise(async () => {
        const seen: Array<string> = []
        for (let cursor = ""; ; ) {
          const { json } = await send("GET", `${path}?limit=100${cursor}`, { key: secret })
          seen.push(...json.events.map((event: AuditEvent) => event.id))
          if (json.nextCursor === null) break
          cursor = `&cursor=${encodeURIComponent(json.nextCursor)}`
        }
        assert.deepStrictEqual(seen, ids.toReversed())
        assert.strictEqual((await send("GET", `${path}?cursor=nonsense`, { key: secret })).status, 400)
        const other = await newKey(["usage:read"], randomUUID())
        assert.deepStrictEqual((await send("GET", path, { key: other.secret })).json, { events: [], nextCursor: null })
      })
    })
  )

  it.effect("is filtered by time, action and Sandbox, alone and together, page by page", () =>
    Effect.gen(function* () {
      const { send, newKey } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { secret, id } = yield* Effect.promise(() => newKey(["usage:read"], randomUUID()))
      const [account] = yield* sql<{ id: string }>`select account_id as id from api_keys where id = ${id}`
      const sandboxes = [newId("sbx_"), newId("sbx_")]
      const start = Date.parse("2026-02-01T00:00:00Z")
      const all = Array.from({ length: 120 }, (_, at) => ({
        id: newId("aud_"),
        accountId: account!.id,
        // Three at each instant, and ids that do not sort as the instants do.
        at: start + Math.floor(((at * 7) % 120) / 3) * 1000,
        source: "console" as const,
        action: ["execute", "readLogs", "deleteSandbox"][at % 3]!,
        apiKeyId: null,
        keyHint: null,
        keyName: null,
        method: "POST",
        path: "/x",
        sandboxId: sandboxes[at % 2]!,
        targetType: null,
        targetId: null,
        status: 200,
        errorCode: null,
        requestId: "r",
        sourceIp: "::1",
        userAgent: null
      }))
      yield* insertEvents(sql, all)
      const sorted = all.toSorted((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))
      const seconds = fc.option(fc.integer({ min: -2, max: 43 }), { nil: null })
      yield* Effect.promise(() =>
        fc.assert(
          fc.asyncProperty(
            seconds,
            seconds,
            fc.constantFrom(null, "execute", "deleteSandbox", "getMe"),
            fc.constantFrom(null, ...sandboxes),
            fc.integer({ min: 1, max: 60 }),
            async (from, to, action, sandboxId, limit) => {
              const fromAt = from === null ? -Infinity : start + from * 1000
              const toAt = to === null ? Infinity : start + to * 1000
              const expected = sorted.filter(
                (event) =>
                  event.at >= fromAt &&
                  event.at < toAt &&
                  (action === null || event.action === action) &&
                  (sandboxId === null || event.sandboxId === sandboxId)
              )
              const given = {
                from: from === null ? null : new Date(fromAt).toISOString(),
                to: to === null ? null : new Date(toAt).toISOString(),
                action,
                sandboxId
              }
              const query = Object.entries(given).flatMap(([name, value]) =>
                value === null ? [] : [`&${name}=${value}`]
              )
              const seen: Array<string> = []
              for (let cursor = ""; ; ) {
                const { json } = await send("GET", `${path}?limit=${limit}${query.join("")}${cursor}`, { key: secret })
                assert.isAtMost(json.events.length, limit)
                seen.push(...json.events.map((event: AuditEvent) => event.id))
                if (json.nextCursor === null) break
                cursor = `&cursor=${encodeURIComponent(json.nextCursor)}`
              }
              assert.deepStrictEqual(
                seen,
                expected.map((event) => event.id)
              )
            }
          ),
          { numRuns: 60 }
        )
      )
    })
  )

  it.effect("refuses unknown filters, unknown keys and keys without the scope", () =>
    withApi(async ({ send, newKey }) => {
      const { secret } = await newKey(["usage:read"], randomUUID())
      const asked = (query: string, key: string | null = secret) => send("GET", `${path}?${query}`, { key })
      for (const query of [
        "limit=0",
        "limit=1001",
        "cursor=",
        `cursor=${Buffer.from("aud_06a1b2c3d4e5f6g7h8j9kamnpq").toString("base64url")}`,
        `cursor=${Buffer.from(`1:op_${"0".repeat(26)}`).toString("base64url")}`,
        "from=2026-02-30T00:00:00Z",
        "to=2026-02-01",
        "sandboxId=sbx_1",
        "sandboxId=",
        "action=",
        "action=EXECUTE",
        `action=${"x".repeat(10_000)}`,
        "action=execute&action=execute",
        "actions=execute"
      ]) {
        const { status, json } = await asked(query)
        assert.deepStrictEqual([query, status, json.code], [query, 400, "INVALID_REQUEST"])
      }
      assert.deepStrictEqual((await asked("action=excute")).json.details.issues, [
        { path: ["action"], message: "Not known. The nearest name is execute." }
      ])
      assert.strictEqual((await asked("limit=1000&from=2026-02-01T00:00%2B01:00")).status, 200)
      assert.strictEqual((await asked("", null)).status, 401)
      assert.strictEqual((await asked("", "unknown")).status, 401)
      const all = scopes.filter((scope) => scope !== "usage:read")
      const { secret: other } = await newKey(all, randomUUID())
      assert.strictEqual((await asked("", other)).json.code, "SCOPE_REQUIRED")
    })
  )

  it.effect("has the operator's changes to the account", () =>
    Effect.gen(function* () {
      const { send, newKey } = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const { secret, id } = yield* Effect.promise(() => newKey(["usage:read"], randomUUID()))
      const [account] = yield* sql<{ id: string }>`select account_id as id from api_keys where id = ${id}`
      const accountId = account!.id
      for (const action of Object.keys(operatorCommands) as ReadonlyArray<OperatorAction>) {
        yield* noteOperator({
          accountId,
          action,
          targetType: "account",
          targetId: accountId,
          status: 200,
          errorCode: null
        })
      }
      const { json } = yield* Effect.promise(() => send("GET", path, { key: secret }))
      assert.isTrue(Schema.is(AuditLog)(json))
      assert.deepStrictEqual(
        json.events.map((event: AuditEvent) => [event.source, event.action, event.method, event.path]).toReversed(),
        Object.entries(operatorCommands).map(([action, words]) => ["operator", action, "CLI", words])
      )
    })
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("the audit log of an earlier Atoll", (it) => {
  it.effect("gets its actions and targets in a migration, which removes the preview ids in it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`drop table audit_events`
      yield* auditTable
      yield* sql`insert into accounts (id, name, created_at) values ('acc_1', 'a', 1)`
      yield* sql`
        insert into api_keys (id, account_id, name, secret_sha256, hint, scopes, created_at)
        values ('key_1', 'acc_1', 'ci', 'x', 'abcd', '{}', 1)`
      const sandbox = `sbx_${"0".repeat(26)}`
      const operation = `op_${"0".repeat(32)}`
      const preview = "0123456789abcdef0123456789abcdef"
      const uuid = "6f1c3a52-8d1b-4c3e-9a77-0d2b5f4e1c90"
      const at = `/api/v2/sandboxes/${sandbox}`
      const calls: ReadonlyArray<readonly [string, string, string, string | null, string | null]> = [
        ["DELETE", "/api/v2/auth", "revokeKey", "key_1", null],
        ["POST", "/api/v2/workspaces", "createWorkspace", null, null],
        ["POST", "/api/v2/sandboxes", "createSandbox", null, null],
        ["DELETE", at, "deleteSandbox", sandbox, sandbox],
        ["POST", `${at}/execute`, "execute", sandbox, sandbox],
        ["POST", `${at}/operations`, "startOperation", null, sandbox],
        ["POST", `${at}/operations/${operation}/wait`, "waitOperation", operation, sandbox],
        ["DELETE", `${at}/processes/1-2`, "endProcess", "1-2", sandbox],
        ["PUT", `${at}/files/content`, "writeFile", sandbox, sandbox],
        ["DELETE", `${at}/files`, "removeFile", sandbox, sandbox],
        ["DELETE", `${at}/previews/${preview}`, "closePreview", null, sandbox],
        ["POST", `${at}/services/lookup`, "lookUpServiceAccess", null, sandbox],
        ["DELETE", `${at}/services/${uuid}`, "revokeServiceAccess", uuid, sandbox],
        ["POST", `${at}/cooperative-connection/ep_1`, "regrantConnection", "ep_1", sandbox],
        ["POST", "/api/v2/sandboxes/nothing/execute", "execute", null, null],
        ["BREW", "/api/v2/coffee", "unknown", null, null]
      ]
      for (const [index, [method, path]] of calls.entries()) {
        yield* sql`
          insert into audit_events values (${`aud_${index}`}, 'acc_1', ${BigInt(index)}, 'key_1', 'abcd', ${method}, ${path}, 200, 'r', '::1')`
      }
      yield* auditFields
      const rows = yield* sql<Record<string, string | null>>`
        select method, path, action, target_id, sandbox_id, key_name, source from audit_events order by at`
      assert.deepStrictEqual(
        rows.map((row) => [row["method"], row["path"], row["action"], row["target_id"], row["sandbox_id"]]),
        calls.map(([method, path, ...rest]) => [method, path.replace(preview, "{previewId}"), ...rest])
      )
      assert.isTrue(rows.every((row) => row["key_name"] === "ci" && row["source"] === "api"))
    })
  )
})
