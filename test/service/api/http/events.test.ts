/** Own process: it counts the streams that the process has open. */
/** The event streams over HTTP: their content, their owner, and when they end. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Transition } from "../../../../schemas/Transition.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { sampleOf } from "../../../support/Scrape.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const open = (api: TestApi["Service"], path: string, headers: Readonly<Record<string, string>> = {}) =>
  new EventClient(api.port, `/api/v2${path}`, { authorization: `Bearer ${api.key}`, ...headers })

const started = async (client: EventClient) => {
  await client.until(() => client.lastEventId !== null)
  return client
}

const logOf = async (api: TestApi["Service"], path: string) =>
  (await api.send("GET", `/api/v2${path}/transitions`)).json.transitions as Array<object>

const runToEnd = async (api: TestApi["Service"], sandboxId: string) => {
  const begun = await api.send("POST", `/api/v2/sandboxes/${sandboxId}/operations`, {
    body: { argv: ["true"] },
    headers: { "idempotency-key": Math.random().toString(36) }
  })
  const { id } = begun.json.operation
  await api.send("POST", `/api/v2/sandboxes/${sandboxId}/operations/${id}/wait`, {})
  return id as string
}

layer(TestApi.layer({ ATOLL_STREAMS_PER_ACCOUNT: "8" }), { excludeTestServices: true })("event streams", (it) => {
  it.effect("carry every transition as the transition log has it, with its resource", () =>
    withApi(async (api) => {
      const workspaceId = await api.newWorkspace()
      const all = await started(open(api, "/events"))
      const sandboxId = await api.newSandbox(workspaceId)
      const own = await started(open(api, `/sandboxes/${sandboxId}/events`))
      const operationId = await runToEnd(api, sandboxId)
      await api.send("POST", `/api/v2/sandboxes/${sandboxId}/stop`)
      // The Sandbox may be stopped before its operation has heard of it.
      const isOver = (client: EventClient) => () => {
        const reached = client.transitions.map(({ data }) => data.to)
        return reached.includes("stopped") && ["completed", "failed"].some((end) => reached.includes(end))
      }
      await all.until(isOver(all))
      await own.until(isOver(own))
      assert.deepStrictEqual(
        [all.headers["content-type"], all.headers["cache-control"]],
        ["text/event-stream", "no-store"]
      )
      const shown = (client: EventClient, actorId: string) =>
        client.transitions
          .filter(({ data }) => data.actorId === actorId)
          .map(({ data: { kind: _kind, actorId: _actorId, sandboxId: _sandboxId, ...rest } }) => rest)
      for (const { data } of [...all.transitions, ...own.transitions]) {
        assert.isTrue(Schema.is(Transition)(data), JSON.stringify(data))
        assert.strictEqual(data.sandboxId, sandboxId)
        assert.strictEqual(data.kind, data.actorId === sandboxId ? "sandbox" : "operation")
      }
      assert.deepStrictEqual(shown(all, sandboxId), await logOf(api, `/sandboxes/${sandboxId}`))
      const operation = await logOf(api, `/sandboxes/${sandboxId}/operations/${operationId}`)
      assert.isAbove(operation.length, 2)
      assert.deepStrictEqual(shown(all, operationId), operation)
      assert.deepStrictEqual(shown(own, operationId), operation)
      all.close()
      own.close()
    })
  )

  it.effect("resume after a position without a gap or a duplicate, given by header or by query", () =>
    withApi(async (api) => {
      const sandboxId = await api.newSandbox(await api.newWorkspace())
      const first = await started(open(api, `/sandboxes/${sandboxId}/events`))
      const begin = first.lastEventId!
      await runToEnd(api, sandboxId)
      await runToEnd(api, sandboxId)
      await first.until(() => first.transitions.filter(({ data }) => data.to === "completed").length === 2)
      const whole = first.transitions.map(({ data }) => data)
      first.close()
      for (const { id } of [{ id: begin }, ...first.transitions]) {
        const at = first.transitions.findIndex((event) => event.id === id) + 1
        const byQuery = open(api, `/sandboxes/${sandboxId}/events?after=${id}`)
        const byHeader = open(api, `/events?after=${begin}`, { "last-event-id": id! })
        for (const client of [byQuery, byHeader]) {
          await client.until(() => client.lastEventId !== null && client.transitions.length >= whole.length - at)
          assert.deepStrictEqual(
            client.transitions.map(({ data }) => data),
            whole.slice(at)
          )
          client.close()
          await client.until(() => client.isOver)
        }
      }
    })
  )

  it.effect("show nothing of other accounts, for any position that a client sends", () =>
    withApi(async (api) => {
      const stranger = await api.newKey(
        ["sandbox:read", "sandbox:create", "sandbox:execute", "workspace:create"],
        "stranger"
      )
      const sandboxId = await api.newSandbox(await api.newWorkspace())
      const mine = await started(open(api, "/events"))
      const position = mine.lastEventId!
      const brought = open(api, `/events?after=${position}`, { authorization: `Bearer ${stranger.secret}` })
      await brought.until(() => brought.isOver)
      assert.deepStrictEqual([brought.status, JSON.parse(brought.body).code], [409, "CURSOR_STALE"])
      const theirs = await started(open(api, "/events", { authorization: `Bearer ${stranger.secret}` }))
      const refused = open(api, `/sandboxes/${sandboxId}/events`, { authorization: `Bearer ${stranger.secret}` })
      await refused.until(() => refused.isOver)
      assert.strictEqual(refused.status, 404)
      await runToEnd(api, sandboxId)
      const other = await api.newSandbox(await api.newWorkspace(stranger.secret), stranger.secret)
      await theirs.until(() => theirs.transitions.some(({ data }) => data.to === "running"))
      assert.deepStrictEqual([...new Set(theirs.transitions.map(({ data }) => data.sandboxId))], [other])
      await mine.until(() => mine.transitions.some(({ data }) => data.to === "completed"))
      assert.deepStrictEqual([...new Set(mine.transitions.map(({ data }) => data.sandboxId))], [sandboxId])
      mine.close()
      theirs.close()
    })
  )

  it.effect("refuse a malformed position, one of another database, and one from before a removal", () =>
    withApi(async (api) => {
      const first = await started(open(api, "/events"))
      const id = first.lastEventId!
      const parts = Buffer.from(id, "base64url").toString().split(".")
      const sealed = (...of: ReadonlyArray<string>) => Buffer.from(of.join(".")).toString("base64url")
      const ask = async (after: string) => {
        const { status, json } = await api.send("GET", `/api/v2/events?after=${encodeURIComponent(after)}`)
        return [status, json.code]
      }
      assert.deepStrictEqual(await ask("nonsense"), [400, "INVALID_REQUEST"])
      assert.deepStrictEqual(await ask(""), [400, "INVALID_REQUEST"])
      assert.deepStrictEqual(await ask(sealed("00000000", parts[1]!, parts[2]!)), [409, "CURSOR_STALE"])
      assert.deepStrictEqual(await ask(sealed(parts[0]!, "9999999999", "0")), [409, "CURSOR_STALE"])
      first.close()
    })
  )

  it.effect("end with their key and need its scope", () =>
    withApi(async (api) => {
      const key = await api.newKey(["sandbox:read"])
      const client = await started(open(api, "/events", { authorization: `Bearer ${key.secret}` }))
      await api.send("DELETE", "/api/v2/auth", { key: key.secret })
      await client.until(() => client.isOver)
      const other = await api.newKey(["usage:read"])
      assert.strictEqual((await api.send("GET", "/api/v2/events", { key: other.secret })).status, 403)
    })
  )

  it.effect("are measured from the commit to the delivery, including the delay by an earlier transaction", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const sql = yield* SqlClient.SqlClient
      const lag = Effect.promise(async () => {
        const texts = await api.scrapes()
        const of = (name: string) =>
          texts.reduce((sum, text) => sum + (sampleOf(text, `atoll_feed_lag_seconds_${name}`) ?? 0), 0)
        return { count: of("count"), sum: of("sum") }
      })
      const sandboxId = yield* Effect.promise(async () => api.newSandbox(await api.newWorkspace()))
      const client = yield* Effect.promise(() => started(open(api, `/sandboxes/${sandboxId}/events`)))
      const before = yield* lag
      yield* Effect.promise(() => runToEnd(api, sandboxId))
      yield* Effect.promise(() => client.until(() => client.transitions.some(({ data }) => data.to === "completed")))
      const soon = yield* lag
      assert.isAbove(soon.count, before.count)
      const told = client.transitions.length
      yield* Effect.gen(function* () {
        yield* sql`select pg_current_xact_id()::text`
        yield* Effect.promise(() => runToEnd(api, sandboxId))
        yield* Effect.sleep(600)
        assert.strictEqual(client.transitions.length, told)
      }).pipe(sql.withTransaction)
      yield* Effect.promise(() => client.until(() => client.transitions.length > told))
      const held = yield* lag
      assert.isAbove(held.count, soon.count)
      assert.isAtLeast(held.sum - soon.sum, 0.6)
      client.close()
    })
  )

  it.effect("have a bound per account, and a closed client frees its slot", () =>
    withApi(async (api) => {
      const clients = await Promise.all(Array.from({ length: 8 }, () => started(open(api, "/events"))))
      const refused = await api.send("GET", "/api/v2/events")
      assert.deepStrictEqual([refused.status, refused.json.code], [429, "RATE_LIMITED"])
      assert.isDefined(refused.headers["retry-after"])
      clients.pop()!.close()
      for (;;) {
        const again = open(api, "/events")
        await again.until(() => again.status !== 0)
        again.close()
        if (again.status === 200) break
      }
      for (const client of clients) client.close()
    })
  )
})
