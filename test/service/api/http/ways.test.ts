/** Previews, TCP service access and cooperative connections over HTTP: statuses, codes and shapes. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { CooperativeEnvelope, CooperativeRevoke } from "../../../../schemas/Cooperative.ts"
import { previewsPerSandbox } from "../../../../schemas/Limits.ts"
import { Preview, PreviewList } from "../../../../schemas/Preview.ts"
import { ServiceAccessEnvelope, ServiceAccessRevoke } from "../../../../schemas/ServiceAccess.ts"
import { runningSandbox } from "../../../support/http/runningSandbox.ts"
import { type Answer, TestApi } from "../../../support/http/TestApi.ts"

const publicKey = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"

const withSandbox = <A>(test: (sandbox: Awaited<ReturnType<typeof runningSandbox>>) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await runningSandbox(api))))

const refused = (answer: Answer, status: number, code: string) =>
  assert.deepStrictEqual([answer.status, answer.json?.code], [status, code])

const uuid = (key: string) => ({ headers: { "idempotency-key": key } })

layer(TestApi.layer({ ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }), {
  excludeTestServices: true
})("ingress to a Sandbox over HTTP", (it) => {
  it.effect("a preview is opened once, closed, and closed again", () =>
    withSandbox(async ({ send, api }) => {
      for (const port of [0, 65_536, "80", 1.5, null]) {
        refused(await send("POST", "/previews", { body: { port } }), 400, "INVALID_REQUEST")
      }
      const opened = await send("POST", "/previews", { body: { port: 3000 } })
      assert.strictEqual(opened.status, 201)
      const preview = Schema.decodeUnknownSync(Preview)(opened.json.preview)
      assert.strictEqual(preview.hostname, `${preview.id}.preview.localhost`)
      assert.strictEqual(new URL(preview.url).hostname, preview.hostname)
      assert.strictEqual(Date.parse(preview.expiresAt) - Date.parse(preview.createdAt), 3_600_000)
      refused(await send("POST", "/previews", { body: { port: 3001 } }), 409, "PREVIEW_EXISTS")
      refused(await send("DELETE", `/previews/${"0".repeat(32)}`), 404, "NOT_FOUND")
      refused(await send("DELETE", "/previews/nothing"), 404, "NOT_FOUND")
      const { secret } = await api.newKey(["sandbox:execute"], "other")
      refused(await send("DELETE", `/previews/${preview.id}`, { key: secret }), 404, "NOT_FOUND")
      for (let time = 0; time < 2; time++) {
        assert.strictEqual((await send("DELETE", `/previews/${preview.id}`)).status, 204)
      }
      assert.strictEqual((await send("POST", "/previews", { body: { port: 3001 } })).status, 201)
      assert.strictEqual((await send("POST", "/stop")).status, 200)
      refused(await send("POST", "/previews", { body: { port: 3001 } }), 503, "PREVIEW_TRANSPORT_UNAVAILABLE")
      assert.strictEqual((await send("DELETE", "")).status, 204)
      refused(await send("POST", "/previews", { body: { port: 3001 } }), 404, "NOT_FOUND")
    })
  )

  it.effect("previews of several ports are open together where that is asked for", () =>
    withSandbox(async ({ send }) => {
      const open = (body: object) => send("POST", "/previews", { body })
      const first = await open({ port: 3000 })
      refused(await open({ port: 3001 }), 409, "PREVIEW_EXISTS")
      refused(await open({ port: 3001, alongside: false }), 409, "PREVIEW_EXISTS")
      const beside = await open({ port: 3001, alongside: true })
      assert.strictEqual(beside.status, 201)
      const same = await open({ port: 3001, alongside: true })
      refused(same, 409, "PREVIEW_EXISTS")
      assert.include(same.json.message, "lookup")
      refused(await open({ port: 3002, alongside: "yes" }), 400, "INVALID_REQUEST")
      const more = await Promise.all(
        Array.from({ length: previewsPerSandbox }, (_, at) => open({ port: 4000 + at, alongside: true }))
      )
      assert.strictEqual(more.filter(({ status }) => status === 201).length, previewsPerSandbox - 2)
      for (const { status, json } of more) if (status !== 201) assert.strictEqual(json.code, "PREVIEW_EXISTS")
      assert.strictEqual((await send("DELETE", `/previews/${first.json.preview.id}`)).status, 204)
      const { previews } = (await send("GET", "/previews")).json
      const active = previews.filter(({ status }: { status: string }) => status === "active")
      assert.strictEqual(active.length, previewsPerSandbox - 1)
      assert.strictEqual((await send("DELETE", "/previews")).status, 204)
      assert.strictEqual((await open({ port: 3000 })).status, 201)
    })
  )

  it.effect("the account gets the address of an open preview again, and no other account does", () =>
    withSandbox(async ({ send, api }) => {
      const lookUp = (port: unknown, ask: object = {}) => send("POST", "/previews/lookup", { body: { port }, ...ask })
      refused(await lookUp(3000), 404, "NOT_FOUND")
      const { preview } = (await send("POST", "/previews", { body: { port: 3000 } })).json
      const beside = (await send("POST", "/previews", { body: { port: 3001, alongside: true } })).json.preview
      const { secret: second } = await api.newKey(["sandbox:execute"])
      for (const ask of [{}, { key: second }]) {
        const found = await lookUp(3000, ask)
        assert.deepStrictEqual([found.status, found.json], [200, { preview }])
      }
      assert.deepStrictEqual((await lookUp(3001)).json, { preview: beside })
      const { secret: reader } = await api.newKey(["sandbox:read"])
      const { secret: other } = await api.newKey(["sandbox:execute"], "other")
      refused(await lookUp(3000, { key: reader }), 403, "SCOPE_REQUIRED")
      refused(await lookUp(3000, { key: other }), 404, "NOT_FOUND")
      refused(await lookUp(3002), 404, "NOT_FOUND")
      refused(await lookUp("3000"), 400, "INVALID_REQUEST")
      assert.strictEqual((await send("DELETE", `/previews/${preview.id}`)).status, 204)
      refused(await lookUp(3000), 404, "NOT_FOUND")
      assert.strictEqual((await send("POST", "/stop")).status, 200)
      refused(await lookUp(3001), 404, "NOT_FOUND")
    })
  )

  it.effect("a closed preview lists no end in the future", () =>
    withSandbox(async ({ send }) => {
      await send("POST", "/previews", { body: { port: 3000 } })
      await send("DELETE", "/previews")
      const [closed] = Schema.decodeUnknownSync(PreviewList)((await send("GET", "/previews")).json).previews
      assert.strictEqual(closed!.status, "closed")
      assert.strictEqual(closed!.expiresAt, closed!.endedAt)
      assert.isAtMost(Date.parse(closed!.expiresAt), Date.now() + 1000)
    })
  )

  it.effect("previews are listed without their capability, and closed without an id", () =>
    withSandbox(async ({ send, api }) => {
      const list = async () => Schema.decodeUnknownSync(PreviewList)((await send("GET", "/previews")).json).previews
      assert.deepStrictEqual(await list(), [])
      assert.strictEqual((await send("DELETE", "/previews")).status, 204)
      const opened = Schema.decodeUnknownSync(Preview)(
        (await send("POST", "/previews", { body: { port: 3000 } })).json.preview
      )
      const { createdAt, expiresAt } = opened
      assert.deepStrictEqual(await list(), [{ port: 3000, status: "active", createdAt, expiresAt, endedAt: null }])
      const { text } = await send("GET", "/previews")
      assert.notInclude(text, opened.id)
      const { secret: other } = await api.newKey(["sandbox:execute"], "other")
      const { secret: reader } = await api.newKey(["sandbox:read"])
      for (const method of ["GET", "DELETE"]) {
        refused(await send(method, "/previews", { key: other }), 404, "NOT_FOUND")
        refused(await send(method, "/previews", { key: reader }), 403, "SCOPE_REQUIRED")
      }
      assert.strictEqual((await list())[0]!.status, "active")
      for (let time = 0; time < 2; time++) assert.strictEqual((await send("DELETE", "/previews")).status, 204)
      assert.deepStrictEqual(
        (await list()).map(({ status }) => status),
        ["closed"]
      )
      assert.strictEqual((await send("POST", "/previews", { body: { port: 3001 } })).status, 201)
      assert.deepStrictEqual(
        (await list()).map(({ port, status }) => [port, status]),
        [
          [3001, "active"],
          [3000, "closed"]
        ]
      )
      assert.strictEqual((await send("POST", "/stop")).status, 200)
      assert.deepStrictEqual(
        (await list()).map(({ status }) => status),
        ["closed", "closed"]
      )
      assert.strictEqual((await send("DELETE", "")).status, 204)
      refused(await send("GET", "/previews"), 404, "NOT_FOUND")
    })
  )

  it.effect("a service access is made once for its key, looked up and revoked", () =>
    withSandbox(async ({ send }) => {
      const key = randomUUID()
      const requested_at = new Date().toISOString()
      const body = { requested_at, ports: [80, 443] }
      for (const ports of [[], [443, 80], [80, 80], [1, 2, 3, 4, 5, 6, 7, 8, 9], [0]]) {
        refused(
          await send("POST", "/services", { body: { requested_at, ports }, ...uuid(key) }),
          400,
          "INVALID_REQUEST"
        )
      }
      refused(await send("POST", "/services", { body, ...uuid("not-a-uuid") }), 400, "INVALID_REQUEST")
      refused(await send("POST", "/services", { body }), 400, "INVALID_REQUEST")
      const late = { ...body, requested_at: new Date(Date.now() - 120_000).toISOString() }
      refused(await send("POST", "/services", { body: late, ...uuid(key) }), 400, "INVALID_REQUEST")
      refused(await send("POST", "/services/lookup", { body, ...uuid(key) }), 404, "NOT_FOUND")
      const made = await send("POST", "/services", { body, ...uuid(key) })
      assert.strictEqual(made.status, 201)
      Schema.decodeUnknownSync(ServiceAccessEnvelope)(made.json)
      const again = await send("POST", "/services", { body, ...uuid(key) })
      assert.deepStrictEqual([again.status, again.json], [201, made.json])
      const found = await send("POST", "/services/lookup", { body, ...uuid(key) })
      assert.deepStrictEqual([found.status, found.json], [200, made.json])
      refused(await send("POST", "/services", { body: { ...body, ports: [80] }, ...uuid(key) }), 400, "INVALID_REQUEST")
      const later = { ...body, requested_at: new Date(Date.parse(requested_at) + 1).toISOString() }
      refused(await send("POST", "/services", { body: later, ...uuid(key) }), 400, "INVALID_REQUEST")
      refused(await send("DELETE", `/services/${randomUUID()}`), 404, "NOT_FOUND")
      const revoked = await send("DELETE", `/services/${key}`)
      assert.strictEqual(revoked.status, 200)
      Schema.decodeUnknownSync(ServiceAccessRevoke)(revoked.json)
      refused(await send("POST", "/services/lookup", { body, ...uuid(key) }), 404, "NOT_FOUND")
    })
  )

  it.effect("an SSH grant is recovered with the same keys and revoked, and its cleanup is never confirmed", () =>
    withSandbox(async ({ send }) => {
      const path = "/cooperative-connection"
      for (const publicKeys of [
        [],
        ["ssh-ed25519"],
        ["ssh-dss AAAA"],
        Array(5).fill(publicKey),
        ["ssh-ed25519 AAAA"]
      ]) {
        refused(await send("POST", path, { body: { publicKeys } }), 400, "INVALID_REQUEST")
      }
      const body = { publicKeys: [publicKey] }
      const granted = await send("POST", path, { body })
      assert.strictEqual(granted.status, 201)
      const envelope = Schema.decodeUnknownSync(CooperativeEnvelope)(granted.json)
      assert.match(envelope.hostKey, /^ssh-ed25519 [A-Za-z0-9+/]+=*$/)
      const again = await send("POST", `${path}/${envelope.endpointId}`, { body })
      assert.deepStrictEqual([again.status, again.json], [200, granted.json])
      const revoked = await send("DELETE", `${path}/${envelope.endpointId}`)
      assert.strictEqual(revoked.status, 202)
      Schema.decodeUnknownSync(CooperativeRevoke)(revoked.json)
      refused(await send("POST", `${path}/${envelope.endpointId}`, { body }), 404, "NOT_FOUND")
    })
  )
})

layer(TestApi.layer(), { excludeTestServices: true })("ingress that is not switched on", (it) => {
  it.effect("answers 501 after shape and ownership", () =>
    withSandbox(async ({ send, api }) => {
      const body = { requested_at: new Date().toISOString(), ports: [80] }
      const key = uuid(randomUUID())
      refused(await send("POST", "/services", { body: {}, ...key }), 400, "INVALID_REQUEST")
      refused(await send("POST", "/services", { body, ...key }), 501, "UNSUPPORTED_BY_RUNTIME")
      refused(await send("POST", "/services/lookup", { body, ...key }), 501, "UNSUPPORTED_BY_RUNTIME")
      refused(await send("DELETE", `/services/${randomUUID()}`), 501, "UNSUPPORTED_BY_RUNTIME")
      const keys = { publicKeys: [publicKey] }
      refused(await send("POST", "/cooperative-connection", { body: keys }), 501, "UNSUPPORTED_BY_RUNTIME")
      const { secret } = await api.newKey(["sandbox:execute"], "other")
      refused(await send("POST", "/services", { body, ...key, key: secret }), 404, "NOT_FOUND")
    })
  )
})
