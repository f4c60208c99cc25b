/** The stream of a Sandbox's log over HTTP: its owner, and that it agrees with the stored log. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { sealLogPosition } from "../../../../src/api/http/logEvents.ts"
import { EventClient } from "../../../support/http/EventClient.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

layer(TestApi.layer(), { excludeTestServices: true })("the stream of a log", (it) => {
  it.effect(
    "has the log's entries, resumes after any event, is visible to its account only and ends with its key",
    () =>
      withApi(async (api) => {
        const id = await api.newSandbox(await api.newWorkspace())
        const path = `/api/v2/sandboxes/${id}/logs`
        const execute = (text: string) =>
          api.send("POST", `/api/v2/sandboxes/${id}/execute`, { body: { argv: ["echo", text] } })
        const own = await api.newKey(["sandbox:read"])
        const follow = (query = "", headers: Readonly<Record<string, string>> = {}) =>
          new EventClient(api.port, `${path}/stream${query}`, { authorization: `Bearer ${own.secret}`, ...headers })
        const told = (client: EventClient) => client.events.flatMap(({ data }) => data.entries)

        await execute("one")
        const client = follow("?source=execute")
        await client.until(() => client.events.length > 0)
        assert.strictEqual(client.headers["content-type"], "text/event-stream")
        assert.isFalse(client.events[0]!.data.truncated)
        const before = client.lastEventId!
        await execute("two")
        const stored = async () => (await api.send("GET", `${path}?source=execute`)).json.logs.entries
        await client.until(() => told(client).length > 1)
        // The log is ordered by instant, the stream by storing.
        assert.sameDeepMembers(told(client), await stored())

        const on = follow("?source=execute", { "last-event-id": before })
        await on.until(() => told(on).some(({ id: entry }) => entry === told(client).at(-1).id))
        // As after a restore, which sets the numbers back, or after the clock was set back.
        for (const seq of [9_999_999_999, 2 ** 53]) {
          const { status, json } = await api.send(
            "GET",
            `${path}/stream?after=${sealLogPosition(id, { at: Date.now(), seq })}`
          )
          assert.deepStrictEqual([status, json.code], [409, "CURSOR_STALE"])
        }
        const late = follow(`?source=execute&after=${sealLogPosition(id, { at: 9_999_999_999_999, seq: 0 })}`)
        await late.until(() => told(late).length > 1)
        assert.sameDeepMembers(told(late), await stored())
        const stranger = await api.newKey(["sandbox:read"], "stranger")
        assert.strictEqual((await api.send("GET", `${path}/stream`, { key: stranger.secret })).status, 404)
        for (const wrong of ["?after=nonsense", "?limit=1001", "?until=2026-01-01T00:00:00Z", "?operationId=op_1"]) {
          assert.strictEqual((await api.send("GET", `${path}/stream${wrong}`)).status, 400, wrong)
        }
        assert.strictEqual((await api.send("DELETE", "/api/v2/auth", { key: own.secret })).status, 204)
        await Promise.all([client, on, late].map((open) => open.until(() => open.isOver)))
      })
  )
})
