/** The answer to a malformed request: everything that is wrong with it, and what would be right. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { runningSandbox } from "../../../support/http/runningSandbox.ts"
import { type Answer, TestApi } from "../../../support/http/TestApi.ts"

const withApi = <A>(test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api)))

const issuesOf = ({ status, json }: Answer): ReadonlyArray<readonly [path: string, message: string]> => {
  assert.deepStrictEqual([status, json.code], [400, "INVALID_REQUEST"])
  return json.details.issues.map(({ path, message }: { path: ReadonlyArray<string>; message: string }) => [
    path.join("."),
    message
  ])
}

layer(TestApi.layer(), { excludeTestServices: true })("a malformed request", (it) => {
  it.effect("without its Idempotency-Key is answered with an example, and with the mistakes of its body", () =>
    withApi(async (api) => {
      const { send } = await runningSandbox(api)
      for (const [answer, inBody] of [
        [await api.send("POST", "/api/v2/workspaces", { body: { nam: "x" } }), ["nam", "name"]],
        [await api.send("POST", "/api/v2/workspaces", { body: "{" }), [""]],
        [await api.send("POST", "/api/v2/workspaces", { body: { name: "x" } }), []],
        [await send("POST", "/operations", { body: { argv: [], cwd: "x" } }), ["argv", "cwd"]],
        [await send("POST", "/services", { body: { ports: [5] } }), ["requested_at"]]
      ] as const) {
        const [[path, message], ...others] = issuesOf(answer) as [readonly [string, string]]
        assert.strictEqual(path, "Idempotency-Key")
        assert.match(message!, /^Required\. .*"Idempotency-Key: [\w-]+"/)
        assert.deepStrictEqual(
          (others as ReadonlyArray<readonly [string, string]>).map(([at]) => at),
          [...inBody]
        )
      }
    })
  )

  it.effect("names the nearest of a few words, in a body and in a query", () =>
    withApi(async (api) => {
      const workspaceId = await api.newWorkspace()
      const headers = { "idempotency-key": "near" }
      const create = { body: { workspaceId, runtime: "namespce" }, headers }
      for (const [answer, path, nearest] of [
        [await api.send("POST", "/api/v2/sandboxes", create), "runtime", "namespace"],
        [await api.send("GET", "/api/v2/sandboxes?status=running,stoped"), "status.1", "stopped"],
        [await api.send("GET", "/api/v2/usage/costs?groupBy=Sandbox"), "groupBy", "sandbox"]
      ] as const) {
        const [issue] = issuesOf(answer)
        assert.strictEqual(issue![0], path)
        assert.match(issue![1], new RegExp(`^Expected ".*"\\. The nearest is "${nearest}"\\.$`))
      }
      const [far] = issuesOf(
        await api.send("POST", "/api/v2/sandboxes", { body: { workspaceId, runtime: "kubernetes" }, headers })
      )
      assert.strictEqual(far![1], 'Expected "vm" | "namespace"')
    })
  )

  it.effect("a Sandbox is made without an Idempotency-Key, but for a virtual machine", () =>
    withApi(async (api) => {
      const workspaceId = await api.newWorkspace()
      const ask = (body: object) => api.send("POST", "/api/v2/sandboxes", { body: { workspaceId, ...body } })
      const [one, other] = [await ask({}), await ask({})]
      assert.deepStrictEqual([one.status, other.status], [202, 202])
      assert.notStrictEqual(one.json.sandbox.id, other.json.sandbox.id)
      const [[path, message]] = issuesOf(await ask({ runtime: "vm" })) as [readonly [string, string]]
      assert.strictEqual(path, "Idempotency-Key")
      assert.match(message, /^Required for a Sandbox of the runtime vm\./)
    })
  )

  it.effect("what is switched off names its setting", () =>
    withApi(async (api) => {
      const { send } = await runningSandbox(api)
      const body = { requested_at: new Date().toISOString(), ports: [5432] }
      const headers = { "idempotency-key": crypto.randomUUID() }
      const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"
      for (const [answer, setting] of [
        [await send("POST", "/services", { body, headers }), "ATOLL_SERVICE_ACCESS=on"],
        [await send("POST", "/cooperative-connection", { body: { publicKeys: [key] } }), "ATOLL_COOPERATIVE=on"]
      ] as const) {
        assert.deepStrictEqual([answer.status, answer.json.code], [501, "UNSUPPORTED_BY_RUNTIME"])
        assert.include(answer.json.message, setting)
      }
    })
  )
})

layer(TestApi.layer(), { excludeTestServices: true })("a JSON answer", (it) => {
  it.effect("is a line, also of an error", () =>
    withApi(async (api) => {
      const { send, id } = await runningSandbox(api)
      const headers = { "idempotency-key": "lines" }
      const started = await send("POST", "/operations", { body: { argv: ["echo", "hello"] }, headers })
      const output = `/operations/${started.json.operation.id}/output?stream=stdout&offset=0`
      const accept = "application/json, text/event-stream"
      for (const answer of [
        started,
        await send("GET", output),
        await send("POST", "/previews", { body: { port: 3000 } }),
        await send("GET", "/previews"),
        await api.send("GET", `/api/v2/sandboxes/${id}`),
        await api.send("GET", "/api/v2/me"),
        await api.send("GET", "/api/v2/openapi.json"),
        await api.send("GET", "/api/v2/machines"),
        await api.send("GET", "/api/v2/nothing"),
        await api.send("GET", "/api/v2/me", { key: null }),
        await api.send("GET", "/healthz"),
        await api.send("POST", "/mcp", { body: { jsonrpc: "2.0", id: 1, method: "ping" }, headers: { accept } }),
        await api.send("GET", "/console/api/keys", { key: null })
      ]) {
        assert.match(answer.text, /^\{.*\}\n$/s)
        const { "content-length": length } = answer.headers
        if (length !== undefined) assert.strictEqual(Number(length), Buffer.byteLength(answer.text))
      }
    })
  )

  it.effect("has the length of its bytes, by GET and by HEAD, and none where there is no body", () =>
    withApi(async (api) => {
      const { send, id } = await runningSandbox(api)
      const name = "Größe 尺寸 📏"
      await api.send("PATCH", `/api/v2/sandboxes/${id}`, { body: { name } })
      for (const path of ["/api/v2/sandboxes", `/api/v2/sandboxes/${id}`, "/api/v2/me", "/api/v2/nothing"]) {
        const [whole, head] = [await api.send("GET", path), await api.send("HEAD", path)]
        assert.match(whole.text, /^\{.*[^\n]\n$/s, path)
        assert.strictEqual(Number(whole.headers["content-length"]), Buffer.byteLength(whole.text), path)
        assert.strictEqual(head.text, "")
        assert.strictEqual(head.headers["content-length"], whole.headers["content-length"], path)
      }
      assert.include((await api.send("GET", "/api/v2/sandboxes")).text, name)
      const closed = await send("DELETE", "/previews")
      assert.deepStrictEqual([closed.status, closed.text, closed.headers["content-length"]], [204, "", undefined])
    })
  )
})
