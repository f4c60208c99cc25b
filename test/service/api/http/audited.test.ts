/** Which calls the audit log has: one test for each endpoint, derived from the endpoint's annotations. */
import { randomBytes, randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { HttpApi, type HttpApiEndpoint } from "effect/http-api"
import fc from "fast-check"
import { scopes } from "../../../../schemas/Access.ts"
import { Api } from "../../../../schemas/Api.ts"
import { type AuditEvent, AuditLog } from "../../../../schemas/Audit.ts"
import { type Answer, type Ask, TestApi } from "../../../support/http/TestApi.ts"

const endpoints: Array<HttpApiEndpoint.Top> = []
HttpApi.reflect(Api, { onGroup: () => {}, onEndpoint: ({ endpoint }) => void endpoints.push(endpoint) })

/** It changes nothing though it is no GET, or reads content though it is a GET. */
const leavesNone = new Set(["waitOperation"])
const leavesOne = new Set([
  "readFile",
  "downloadArchive",
  "readOperationOutput",
  "exportSnapshot",
  "streamOperationOutput",
  "readBuildOutput",
  "streamBuildOutput",
  "readLogs",
  "streamLogs",
  "openTerminal"
])

const isAudited = ({ method, identifier }: HttpApiEndpoint.Top): boolean =>
  method === "GET" ? leavesOne.has(identifier) : !leavesNone.has(identifier)

const ids: Readonly<Record<string, string>> = {
  "sandboxes/:id": "sbx_00000000000000000000000000",
  "workspaces/:id": "wsp_00000000000000000000000000",
  "images/:id": "img_00000000000000000000000000",
  "snapshots/:id": "snp_00000000000000000000000000",
  ":operationId": `op_${"0".repeat(32)}`,
  ":previewId": "0123456789abcdef0123456789abcdef",
  ":generationId": "6f1c3a52-8d1b-4c3e-9a77-0d2b5f4e1c90",
  ":endpointId": "ep_00000000000000000000000000",
  ":processId": "4711-123456"
}

/** A path of that form that names nothing that exists. */
const pathOf = ({ path }: HttpApiEndpoint.Top): string =>
  path
    .split("/")
    .map((word, at, words) => (word.startsWith(":") ? (ids[`${words[at - 1]}/${word}`] ?? ids[word] ?? "x") : word))
    .join("/")

const withApi = <A>(
  test: (
    api: TestApi["Service"],
    events: (key: string, query?: string) => Promise<ReadonlyArray<AuditEvent>>
  ) => Promise<A>
) =>
  Effect.flatMap(TestApi, (api) =>
    Effect.promise(() =>
      test(api, async (key, query = "") => {
        await api.auditWritten()
        const { json, text } = await api.send("GET", `/api/v2/usage/audit?limit=1000${query}`, { key })
        assert.isTrue(Schema.is(AuditLog)(json), text)
        return json.events as ReadonlyArray<AuditEvent>
      })
    )
  )

layer(TestApi.layer({ ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }), {
  excludeTestServices: true
})("the audit log", (it) => {
  for (const endpoint of endpoints) {
    const { identifier, method } = endpoint
    const says = isAudited(endpoint) ? "one event a call, refused or not" : "none"
    it.effect(`${identifier}: ${says}`, () =>
      withApi(async (api, events) => {
        const account = randomUUID()
        const reader = await api.newKey(["usage:read"], account)
        const full = await api.newKey(scopes, account)
        const path = pathOf(endpoint)
        // A stream of the whole account would open and not end, so the request is made one that is refused.
        const query = identifier === "streamEvents" ? "?after=nothing" : ""
        const call = (key: string | null, ask: Ask = {}) => api.send(method, path + query, { key, ...ask })
        const answers: Array<Answer> = [await call(reader.secret), await call(full.secret)]
        await call(null)
        await call("unknown")
        const found = (await events(reader.secret)).toReversed()
        if (!isAudited(endpoint)) return assert.deepStrictEqual(found, [])
        assert.deepStrictEqual(
          found.map(({ action, apiKeyId, status, errorCode, requestId }) => [
            action,
            apiKeyId,
            status,
            errorCode,
            requestId
          ]),
          answers.map(({ status, json, headers }, at) => [
            identifier,
            [reader, full][at]!.id,
            status,
            status < 400 ? null : json.code,
            headers["x-request-id"]
          ])
        )
        for (const event of found) {
          assert.strictEqual(event.source, "api")
          assert.strictEqual(event.method, method)
          assert.strictEqual(event.keyName, "test")
          assert.strictEqual(event.path, path.replace(/0123456789abcdef0123456789abcdef/, "{previewId}"))
          assert.isNotNull(event.targetType, identifier)
        }
      })
    )
  }

  it.effect("names an action by the OpenAPI's operationId, and can be filtered by each", () =>
    withApi(async (api) => {
      const { paths } = (await api.send("GET", "/api/v2/openapi.json")).json
      const operationIds = Object.values(paths as Record<string, Record<string, { operationId: string }>>).flatMap(
        (item) => Object.values(item).map(({ operationId }) => operationId)
      )
      assert.sameMembers(operationIds, [...endpoints.map(({ identifier }) => identifier), "openTunnel"])
      for (const action of [...operationIds, "openSshSession", "grantCredit", "unknown"]) {
        const query = `action=${action}&from=2020-01-01T00:00Z&to=2020-01-02T00:00Z`
        const { status, json, text } = await api.send("GET", `/api/v2/usage/audit?${query}`)
        assert.deepStrictEqual([status, json.events], [200, []], text)
      }
    })
  )

  it.effect("names the created resource as the target, and a Sandbox's events begin with its creation", () =>
    withApi(async (api, events) => {
      const account = randomUUID()
      const { secret: key, id: keyId } = await api.newKey(scopes, account)
      const reader = await api.newKey(["usage:read"], account)
      const send = async (method: string, path: string, body?: unknown, idempotencyKey: string = randomUUID()) => {
        const headers: Record<string, string> = { "idempotency-key": idempotencyKey }
        if (Buffer.isBuffer(body)) headers["content-type"] = "application/octet-stream"
        const answer = await api.send(method, `/api/v2${path}`, {
          key,
          headers,
          ...(body === undefined ? {} : { body })
        })
        assert.isBelow(answer.status, 300, `${path} ${answer.text}`)
        return answer.json
      }
      const workspaceId: string = (await send("POST", "/workspaces", { name: "w" })).workspace.id
      const sandboxId: string = (await send("POST", "/sandboxes", { workspaceId })).sandbox.id
      const at = `/sandboxes/${sandboxId}`
      await send("POST", `${at}/start`)
      await send("POST", `${at}/execute`, { argv: ["echo", "hello"] })
      const operationId: string = (await send("POST", `${at}/operations`, { argv: ["echo"] })).operation.id
      await send("POST", `${at}/operations/${operationId}/wait`, {})
      await send("GET", `${at}/operations/${operationId}/output?stream=stdout&offset=0`)
      await send("GET", `${at}/logs`)
      const preview = (await send("POST", `${at}/previews`, { port: 80 })).preview
      await send("DELETE", `${at}/previews/${preview.id}`)
      await send("DELETE", `${at}/previews`)
      const generationId = randomUUID()
      const access = { requested_at: new Date().toISOString(), ports: [80] }
      const { capability } = await send("POST", `${at}/services`, access, generationId)
      await send("POST", `${at}/services/lookup`, access, generationId)
      await send("DELETE", `${at}/services/${generationId}`)
      const publicKeys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"]
      const { endpointId } = await send("POST", `${at}/cooperative-connection`, { publicKeys })
      await send("DELETE", at)
      await send("DELETE", "/auth")

      const all = (await events(reader.secret)).toReversed()
      assert.deepStrictEqual(
        all.map(({ action, targetType, targetId, status }) => [action, targetType, targetId, status]),
        [
          ["createWorkspace", "workspace", workspaceId, 201],
          ["createSandbox", "sandbox", sandboxId, 202],
          ["startSandbox", "sandbox", sandboxId, 201],
          ["execute", "sandbox", sandboxId, 200],
          ["startOperation", "operation", operationId, 202],
          ["readOperationOutput", "operation", operationId, 200],
          ["readLogs", "sandbox", sandboxId, 200],
          ["createPreview", "preview", null, 201],
          ["closePreview", "preview", null, 204],
          ["closePreviews", "preview", null, 204],
          ["createServiceAccess", "serviceAccess", generationId, 201],
          ["lookUpServiceAccess", "serviceAccess", generationId, 200],
          ["revokeServiceAccess", "serviceAccess", generationId, 200],
          ["grantConnection", "connectionGrant", endpointId, 201],
          ["deleteSandbox", "sandbox", sandboxId, 204],
          ["revokeKey", "apiKey", keyId, 204]
        ]
      )
      const own = all.filter(({ action }) => action !== "createWorkspace" && action !== "revokeKey")
      assert.deepStrictEqual((await events(reader.secret, `&sandboxId=${sandboxId}`)).toReversed(), own)
      assert.deepStrictEqual(
        await events(reader.secret, `&sandboxId=${sandboxId}&action=execute`),
        own.filter(({ action }) => action === "execute")
      )
      const text = JSON.stringify(all)
      for (const secret of [key, reader.secret, preview.id, capability]) assert.notInclude(text, secret)
    })
  )

  it.effect("has a HEAD of content as a read", () =>
    withApi(async (api, events) => {
      const { secret } = await api.newKey(scopes, randomUUID())
      await api.send("HEAD", "/api/v2/sandboxes/sbx_00000000000000000000000000/logs", { key: secret })
      assert.deepStrictEqual(
        (await events(secret)).map(({ action, method, status }) => [action, method, status]),
        [["readLogs", "HEAD", 404]]
      )
    })
  )

  it.effect("holds no secret, wherever a caller puts one", () =>
    withApi(async (api, events) => {
      const { secret } = await api.newKey(scopes, randomUUID())
      const workspaceId = await api.newWorkspace(secret)
      const sandboxId = await api.newSandbox(workspaceId, secret)
      const marks: Array<string> = []
      const mark = (form: string): string => {
        const made =
          form === "key"
            ? `atoll_live_${randomBytes(32).toString("hex").slice(0, 43)}`
            : form === "hex"
              ? randomBytes(16).toString("hex")
              : `~${randomBytes(12).toString("hex")}`
        marks.push(made)
        return made
      }
      const audited = endpoints.filter((endpoint) => isAudited(endpoint) && endpoint.identifier !== "revokeKey")
      const form = fc.constantFrom("key", "hex", "word")
      await fc.assert(
        fc.asyncProperty(
          fc.constantFrom(...audited),
          fc.boolean(),
          fc.array(form, { minLength: 5, maxLength: 5 }),
          async (endpoint, isOwn, forms) => {
            const [first, second, third, fourth, fifth] = forms.map(mark)
            let words = 0
            const path = endpoint.path.replace(/:\w+/g, () => (words++ === 0 && isOwn ? sandboxId : (first as string)))
            const isBytes = endpoint.payload.has("application/octet-stream")
            await api.send(endpoint.method, `${path}?path=/workspace/${second}&${third}=${third}`, {
              key: secret,
              ...(endpoint.method === "GET"
                ? {}
                : { body: JSON.stringify({ argv: ["echo", fourth], name: fourth, [fourth!]: 1 }) }),
              headers: {
                ...(isBytes ? { "content-type": "application/octet-stream" } : {}),
                "idempotency-key": fifth!,
                cookie: `session=${fifth}`,
                "x-request-id": `a ${mark("key")} b`,
                "user-agent": `curl ${mark("key")}/${mark("key")}`
              }
            })
          }
        ),
        { numRuns: 150 }
      )
      const text = JSON.stringify(await events(secret))
      assert.include(text, "curl atoll_live_***/atoll_live_***")
      assert.deepStrictEqual(
        marks.filter((one) => text.includes(one)),
        []
      )
    })
  )

  it.effect("bounds a client's name for itself, and keeps it printable", () =>
    withApi(async (api, events) => {
      const { secret } = await api.newKey(scopes, randomUUID())
      const bodies = [`é\t${"x".repeat(300)}`, "", null]
      for (const agent of bodies) {
        await api.send("POST", "/api/v2/workspaces", {
          key: secret,
          body: {},
          headers: agent === null ? {} : { "user-agent": agent }
        })
      }
      assert.deepStrictEqual(
        (await events(secret)).toReversed().map(({ userAgent }) => userAgent),
        [`??${"x".repeat(254)}`, null, null]
      )
    })
  )
})
