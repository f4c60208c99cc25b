/** The stream of an operation's output: every byte once, from any offset on, and the operation last. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { EventClient } from "../../../support/http/EventClient.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const start = async (api: TestApi["Service"], sandboxId: string, argv: ReadonlyArray<string>) =>
  (
    await api.send("POST", `/api/v2/sandboxes/${sandboxId}/operations`, {
      body: { argv },
      headers: { "idempotency-key": Math.random().toString(36) }
    })
  ).json.operation.id as string

const follow = (api: TestApi["Service"], path: string, headers: Readonly<Record<string, string>> = {}) =>
  new EventClient(api.port, `${path}`, { authorization: `Bearer ${api.key}`, ...headers })

const textOf = (client: EventClient, stream: string) =>
  Buffer.concat(
    client.events
      .filter(({ event, data }) => event === "output" && data.stream === stream)
      .map(({ data }) => Buffer.from(data.data, "base64"))
  ).toString()

layer(TestApi.layer(), { excludeTestServices: true })("the stream of an operation's output", (it) => {
  it.effect("carries every byte once, then the operation, and resumes after any event", () =>
    withApi(async (api) => {
      const sandboxId = await api.newSandbox(await api.newWorkspace())
      const operationId = await start(api, sandboxId, ["echo", "hello"])
      const path = `/api/v2/sandboxes/${sandboxId}/operations/${operationId}`
      const client = follow(api, `${path}/output/stream`)
      await client.until(() => client.isOver)
      assert.strictEqual(client.headers["content-type"], "text/event-stream")
      const stored = async (stream: string) => {
        const { json } = await api.send("GET", `${path}/output?stream=${stream}&offset=0`)
        return Buffer.from(json.data, "base64").toString()
      }
      const stdout = await stored("stdout")
      assert.isAbove(stdout.length, 0)
      assert.strictEqual(textOf(client, "stdout"), stdout)
      assert.strictEqual(textOf(client, "stderr"), await stored("stderr"))
      const last = client.events.at(-1)!
      assert.strictEqual(last.event, "operation")
      assert.deepStrictEqual(last.data.operation, (await api.send("GET", path)).json.operation)

      const byOffset = follow(api, `${path}/output/stream?stdoutOffset=2`)
      await byOffset.until(() => byOffset.isOver)
      assert.strictEqual(textOf(byOffset, "stdout"), stdout.slice(2))
      const first = client.events.find(({ event, data }) => event === "output" && data.stream === "stdout")!
      const byId = follow(api, `${path}/output/stream`, { "last-event-id": first.id! })
      await byId.until(() => byId.isOver)
      assert.strictEqual(textOf(byId, "stdout"), stdout.slice(first.data.nextOffset))
      assert.strictEqual(byId.events.at(-1)!.event, "operation")
    })
  )

  it.effect("is visible to its account only, ends with its key, and waits while the command runs", () =>
    withApi(async (api) => {
      const sandboxId = await api.newSandbox(await api.newWorkspace())
      const operationId = await start(api, sandboxId, ["sleep", "60"])
      const path = `/api/v2/sandboxes/${sandboxId}/operations/${operationId}/output/stream`
      const stranger = await api.newKey(["sandbox:execute"], "stranger")
      assert.strictEqual((await api.send("GET", path, { key: stranger.secret })).status, 404)
      const reader = await api.newKey(["sandbox:read"])
      assert.strictEqual((await api.send("GET", path, { key: reader.secret })).status, 403)
      const wrong = await api.send("GET", path, { headers: { "last-event-id": "nonsense" } })
      assert.strictEqual(wrong.status, 400)
      const own = await api.newKey(["sandbox:execute", "sandbox:read"])
      const ended = follow(api, path, { authorization: `Bearer ${own.secret}` })
      const client = follow(api, path)
      await client.until(() => client.status === 200)
      await ended.until(() => ended.status === 200)
      assert.strictEqual((await api.send("DELETE", "/api/v2/auth", { key: own.secret })).status, 204)
      await ended.until(() => ended.isOver)
      assert.deepStrictEqual(ended.events, [])
      assert.isFalse(client.isOver)
      await api.send("POST", path.replace("output/stream", "cancel"))
      await client.until(() => client.isOver)
      assert.deepStrictEqual(
        client.events.map(({ event, data }) => [event, data.operation?.status]),
        [["operation", "cancelled"]]
      )
    })
  )
})
