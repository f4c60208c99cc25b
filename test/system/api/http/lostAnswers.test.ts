/** The database fails during a change: the answer says whether the change may have been applied. */
import { randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { HttpApi } from "effect/http-api"
import { ReadOnly, scopes } from "../../../../schemas/Access.ts"
import { Api } from "../../../../schemas/Api.ts"
import { tarMediaType } from "../../../../schemas/Files.ts"
import { imageArchiveMediaType } from "../../../../schemas/ImageUpload.ts"
import { snapshotMediaType } from "../../../../schemas/SnapshotFile.ts"
import { CutDatabase } from "../../../support/CutDatabase.ts"
import { hang } from "../../../support/http/commands.ts"
import { type Answer, type Ask, TestApi } from "../../../support/http/TestApi.ts"
import { anyReference } from "../../../support/image/anyReference.ts"
import { snapshotFile } from "../../../support/snapshot/snapshotFile.ts"

type Call = readonly [method: string, path: string, ask?: Ask]

const keyed = () => ({ "idempotency-key": randomUUID() })
const publicKeys = ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFamwJMHwchcmLNm7FbRfD7l3ZUX+HUrv6CPjIFB6ckS test"]
const access = () => ({ requested_at: new Date().toISOString(), ports: [80] })

/** A new account with a running Sandbox. */
interface Tenant {
  readonly send: TestApi["Service"]["send"]
  readonly newKey: () => Promise<string>
  readonly workspaceId: string
}

/** Prepares what the call needs, and returns the call that is cut. */
type Change = (sandbox: string, tenant: Tenant) => Call | Promise<Call>

/** One that is ready: nothing but the call that is cut changes it. */
const newSnapshot = async (sandbox: string, send: Tenant["send"]): Promise<string> => {
  const { id } = (await send("POST", `/api/v2${sandbox}/snapshots`)).json.snapshot
  while ((await send("GET", `/api/v2/snapshots/${id}`)).json.snapshot.status !== "ready");
  return id
}

/** The same of an image. */
const newImage = async (send: Tenant["send"]): Promise<string> => {
  const { id } = (await send("POST", "/api/v2/images", { body: { reference: anyReference } })).json.image
  while ((await send("GET", `/api/v2/images/${id}`)).json.image.status === "pulling");
  return id
}

/** By the operation's id in the OpenAPI description: what the database commits. */
const committed: Readonly<Record<string, Change>> = {
  createWorkspace: () => ["POST", "/workspaces", { body: { name: "new" }, headers: keyed() }],
  renameWorkspace: (_sandbox, { workspaceId }) => ["PATCH", `/workspaces/${workspaceId}`, { body: { name: "other" } }],
  deleteWorkspace: async (_sandbox, { send }) => {
    const made = await send("POST", "/api/v2/workspaces", { body: { name: "empty" }, headers: keyed() })
    return ["DELETE", `/workspaces/${made.json.workspace.id}`]
  },
  createSandbox: (_sandbox, { workspaceId }) => ["POST", "/sandboxes", { body: { workspaceId }, headers: keyed() }],
  updateSandbox: (sandbox) => ["PATCH", sandbox, { body: { name: "other", env: { NAME: "value" } } }],
  deleteSandbox: (sandbox) => ["DELETE", sandbox],
  createSnapshot: (sandbox) => ["POST", `${sandbox}/snapshots`, { body: {}, headers: keyed() }],
  updateSnapshot: async (sandbox, { send }) => [
    "PATCH",
    `/snapshots/${await newSnapshot(sandbox, send)}`,
    { body: { name: "other" } }
  ],
  deleteSnapshot: async (sandbox, { send }) => ["DELETE", `/snapshots/${await newSnapshot(sandbox, send)}`],
  rollbackSandbox: async (sandbox, { send }) => {
    const snapshotId = await newSnapshot(sandbox, send)
    while ((await send("GET", `/api/v2/snapshots/${snapshotId}`)).json.snapshot.status !== "ready");
    return ["POST", `${sandbox}/rollback`, { body: { snapshotId, keep: false }, headers: keyed() }]
  },
  importSnapshot: async (_sandbox, { workspaceId }) => [
    "POST",
    `/snapshots?workspaceId=${workspaceId}`,
    { body: await snapshotFile(), headers: { ...keyed(), "content-type": snapshotMediaType } }
  ],
  forkSandbox: (sandbox) => ["POST", `${sandbox}/fork`, { body: {}, headers: keyed() }],
  pullImage: () => ["POST", "/images", { body: { reference: anyReference }, headers: keyed() }],
  uploadImage: () => [
    "POST",
    "/images/upload",
    { body: Buffer.from("an archive"), headers: { ...keyed(), "content-type": imageArchiveMediaType } }
  ],
  buildImage: () => [
    "POST",
    "/images/build",
    { body: Buffer.from("an archive"), headers: { ...keyed(), "content-type": tarMediaType } }
  ],
  deleteImage: async (_sandbox, { send }) => ["DELETE", `/images/${await newImage(send)}`],
  stopSandbox: (sandbox) => ["POST", `${sandbox}/stop`],
  startSandbox: async (sandbox, { send }) => {
    await send("POST", `/api/v2${sandbox}/stop`)
    return ["POST", `${sandbox}/start`]
  },
  startOperation: (sandbox) => ["POST", `${sandbox}/operations`, { body: { argv: hang }, headers: keyed() }],
  cancelOperation: async (sandbox, { send }) => {
    const path = `/api/v2${sandbox}/operations`
    const { id } = (await send("POST", path, { body: { argv: hang }, headers: keyed() })).json.operation
    while ((await send("GET", `${path}/${id}`)).json.operation.status !== "running");
    return ["POST", `${sandbox}/operations/${id}/cancel`]
  },
  createPreview: (sandbox) => ["POST", `${sandbox}/previews`, { body: { port: 80 } }],
  closePreview: async (sandbox, { send }) => {
    const { preview } = (await send("POST", `/api/v2${sandbox}/previews`, { body: { port: 80 } })).json
    return ["DELETE", `${sandbox}/previews/${preview.id}`]
  },
  closePreviews: async (sandbox, { send }) => {
    await send("POST", `/api/v2${sandbox}/previews`, { body: { port: 80 } })
    return ["DELETE", `${sandbox}/previews`]
  },
  createServiceAccess: (sandbox) => ["POST", `${sandbox}/services`, { body: access(), headers: keyed() }],
  revokeServiceAccess: async (sandbox, { send }) => {
    const id = randomUUID()
    await send("POST", `/api/v2${sandbox}/services`, { body: access(), headers: { "idempotency-key": id } })
    return ["DELETE", `${sandbox}/services/${id}`]
  },
  grantConnection: (sandbox) => ["POST", `${sandbox}/cooperative-connection`, { body: { publicKeys } }],
  revokeConnection: async (sandbox, { send }) => {
    const path = `/api/v2${sandbox}/cooperative-connection`
    const { endpointId } = (await send("POST", path, { body: { publicKeys } })).json
    return ["DELETE", `${sandbox}/cooperative-connection/${endpointId}`]
  },
  revokeKey: async (_sandbox, { newKey }) => ["DELETE", "/auth", { key: await newKey() }]
}

/**
 * Changes in the guest: between the change and the answer the service sends the database no statement, or waits for it.
 */
const inGuest = [
  "execute",
  "endProcess",
  "writeFile",
  "editFile",
  "createDirectory",
  "renameFile",
  "removeFile",
  "uploadArchive"
]

const service = TestApi.on({ ATOLL_SERVICE_ACCESS: "on", ATOLL_COOPERATIVE: "on", ATOLL_SSH_PORT: "0" }).pipe(
  Layer.provideMerge(CutDatabase.layer)
)

const told = ({ status, json, headers }: Answer) => [status, json?.code, json?.details, headers["retry-after"]]

layer(service, { excludeTestServices: true })("a database that fails during a change", (it) => {
  const prepared = (change: Change) =>
    Effect.flatMap(TestApi, (api) =>
      Effect.promise(async () => {
        const account = randomUUID()
        const newKey = async () => (await api.newKey(scopes, account)).secret
        const key = await newKey()
        const send: Tenant["send"] = (method, path, ask) => api.send(method, path, { key, ...ask })
        const workspaceId = await api.newWorkspace(key)
        const sandbox = `/sandboxes/${await api.newSandbox(workspaceId, key)}`
        const [method, path, ask] = await change(sandbox, { send, newKey, workspaceId })
        return () => send(method, `/api/v2${path}`, ask)
      })
    )

  const mended = Effect.gen(function* () {
    const { send } = yield* TestApi
    yield* (yield* CutDatabase).mend
    yield* Effect.repeat(
      Effect.delay(
        Effect.promise(() => send("GET", "/healthz", { key: null })),
        20
      ),
      { until: ({ status }) => status === 200 }
    )
  })

  it("is tested with every endpoint that changes something", () => {
    const changing: Array<string> = []
    HttpApi.reflect(Api, {
      onGroup: () => {},
      onEndpoint: ({ endpoint }) => {
        if (endpoint.method !== "GET" && !Context.get(endpoint.annotations, ReadOnly))
          changing.push(endpoint.identifier)
      }
    })
    assert.sameMembers([...Object.keys(committed), ...inGuest], changing)
  })

  describe("leaves an unknown outcome once the change is committed", () => {
    for (const [name, change] of Object.entries(committed)) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const send = yield* prepared(change)
          const cut = yield* Effect.forkChild(yield* (yield* CutDatabase).cutAfterCommit, { startImmediately: true })
          const answer = yield* Effect.promise(send)
          yield* Fiber.join(cut)
          yield* mended
          assert.deepStrictEqual(told(answer), [503, "SERVICE_UNAVAILABLE", { outcome: "unknown" }, "2"])
          assert.notMatch(answer.json.message, /send the request again/i)
        })
      )
    }
  })

  it.effect("leaves every change repeatable before anything was sent on", () =>
    Effect.gen(function* () {
      const sends = new Map<string, () => Promise<Answer>>()
      for (const [name, change] of Object.entries(committed)) sends.set(name, yield* prepared(change))
      yield* (yield* CutDatabase).cut
      const answers = yield* Effect.promise(() =>
        Promise.all([...sends].map(async ([name, send]) => [name, await send()] as const))
      )
      yield* mended
      for (const [name, answer] of answers) {
        assert.deepStrictEqual(told(answer), [503, "SERVICE_UNAVAILABLE", null, "2"], name)
        assert.match(answer.json.message, /send the request again/i)
      }
    })
  )
})
