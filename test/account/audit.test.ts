/** The audit log: every call that may change something, with its outcome; nobody else's; in pages. */
import { randomUUID } from "node:crypto"
import { connect } from "node:net"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { scopes } from "../../schemas/Access.ts"
import { type AuditEvent, AuditLog } from "../../schemas/Audit.ts"
import { TestApi } from "../http/TestApi.ts"

const path = "/api/v2/usage/audit"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

/** Events appear within about a second: asks until there are as many. */
const events = async (
  send: TestApi["Service"]["send"],
  key: string,
  count: number
): Promise<ReadonlyArray<AuditEvent>> => {
  for (let at = 0; at < 100; at++) {
    const { json, text } = await send("GET", path, { key })
    assert.isTrue(Schema.is(AuditLog)(json), text)
    if (json.events.length >= count) return json.events
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`There are not ${count} events.`)
}

layer(TestApi.layer(), { excludeTestServices: true })("the audit log", (it) => {
  it.effect("has each call but GET and HEAD, with key, outcome, request id and address, newest first", () =>
    withApi(async ({ send, newKey }) => {
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
      await call("POST", "/workspaces", "nobody", "unauthenticated", { name: "x" })
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
        assert.strictEqual(event.sourceIp, "127.0.0.1")
        assert.strictEqual(event.keyHint?.length, 4)
        assert.isBelow(Math.abs(Date.now() - Date.parse(event.at)), 10_000)
      }
    })
  )

  it.effect("has a call whose caller went away before its answer", () =>
    withApi(async (api) => {
      const { secret } = await api.newKey(scopes, randomUUID())
      const id = await api.newSandbox(await api.newWorkspace(secret), secret)
      const before = (await events(api.send, secret, 3)).length
      const body = JSON.stringify({ argv: ["hang"] })
      const socket = connect(api.port, "127.0.0.1")
      socket.write(
        `POST /api/v2/sandboxes/${id}/execute HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${secret}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
      )
      await new Promise((resolve) => setTimeout(resolve, 300))
      socket.destroy()
      const [last] = await events(api.send, secret, before + 1)
      assert.deepInclude(last, { method: "POST", path: `/api/v2/sandboxes/${id}/execute`, status: 499 })
    })
  )

  it.effect("is paged without gaps, and is the account's own", () =>
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
})
