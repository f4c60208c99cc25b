/** Snapshots as files over HTTP: what comes out goes in again, and what is no such file leaves nothing. */
import { randomBytes, randomUUID } from "node:crypto"
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { snapshotMediaType } from "../../../schemas/SnapshotFile.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"
import { snapshotFile, snapshotHeader } from "../../support/snapshot/snapshotFile.ts"

const MiB = 1024 ** 2

const withTenant = <A>(test: (tenant: SnapshotTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await snapshotTenant(api), api)))

const sends =
  ({ send, workspaceId }: SnapshotTenant) =>
  (body: Buffer, { query = "", key = randomUUID() }: { readonly query?: string; readonly key?: string } = {}) =>
    send("POST", `/snapshots?workspaceId=${workspaceId}${query}`, {
      body,
      headers: { "content-type": snapshotMediaType, "idempotency-key": key }
    })

const exported = async ({ port }: TestApi["Service"], { key }: SnapshotTenant, id: string, query = "") => {
  const headers = { authorization: `Bearer ${key}` }
  const answer = await fetch(`http://127.0.0.1:${port}/api/v2/snapshots/${id}/content${query}`, { headers })
  assert.strictEqual(answer.status, 200)
  return { headers: Object.fromEntries(answer.headers), bytes: Buffer.from(await answer.arrayBuffer()) }
}

describe.skipIf(isOverAFleet)("the file of a snapshot", () => {
  const settings = { ATOLL_VOLUME_BYTES: String(4 * MiB), ATOLL_WORKSPACE_STORAGE_BYTES: String(40 * MiB) }
  layer(TestApi.layer(settings), { excludeTestServices: true })((it) => {
    it.effect("makes an equal snapshot, of which Sandboxes can be made; it has no variables", () =>
      withTenant(async (tenant, api) => {
        const { world } = api
        const { create, ready, running, untilIs } = tenant
        const source = await running({ name: "source", metadata: { team: "blue" }, env: { TOKEN: "secret-value" } })
        const id = await ready(source, { name: "kept" })
        const file = await exported(api, tenant, id)
        assert.strictEqual(file.headers["content-type"], snapshotMediaType)
        assert.notInclude(file.bytes.toString("latin1"), "secret-value")
        const { status, json } = await sends(tenant)(file.bytes)
        assert.strictEqual(status, 202, JSON.stringify(json))
        assert.deepInclude(json.snapshot, { status: "creating", sandboxId: null, imported: true, name: "kept" })
        const copy = await untilIs("snapshot", json.snapshot.id, "ready")
        assert.deepInclude(copy, { envNames: [], metadata: { team: "blue" }, sizeBytes: 4 * MiB, generation: 0 })
        const again = await exported(api, tenant, copy.id)
        const imageOf = (one: string) => world.imported.get(one)
        assert.deepStrictEqual(
          imageOf(copy.id)?.map(({ offset, bytes }) => [offset, Buffer.from(bytes).toString("latin1").slice(0, 30)]),
          [[4096, source]]
        )
        const third = (await sends(tenant)(again.bytes, { query: "&name=third" })).json.snapshot
        await untilIs("snapshot", third.id, "ready")
        assert.deepStrictEqual(imageOf(third.id), imageOf(copy.id))
        assert.strictEqual(third.name, "third")
        const child = (await create({ snapshotId: copy.id })).json.sandbox.id
        await untilIs("sandbox", child, "running")
        assert.strictEqual(world.origins.get(child), copy.id)
        const { json: lineage } = await tenant.send("GET", `/sandboxes/${child}/lineage`)
        assert.deepStrictEqual(lineage.parents, [])
      })
    )

    it.effect("continues at any offset, with the same tag", () =>
      withTenant(async (tenant, api) => {
        const id = await tenant.ready(await tenant.running())
        const whole = await exported(api, tenant, id)
        for (const offset of [1, 20, whole.bytes.length - 1, whole.bytes.length]) {
          const part = await exported(api, tenant, id, `?offset=${offset}`)
          assert.deepStrictEqual(part.bytes, whole.bytes.subarray(offset))
          assert.deepInclude(part.headers, { etag: whole.headers["etag"], "x-service-offset": String(offset) })
        }
        await tenant.send("PATCH", `/snapshots/${id}`, { body: { name: "renamed" } })
        assert.notStrictEqual((await exported(api, tenant, id)).headers["etag"], whole.headers["etag"])
      })
    )

    it.effect("gives the same snapshot for a repeated key, and 409 for another file with it", () =>
      withTenant(async (tenant) => {
        const key = randomUUID()
        const file = await snapshotFile({ name: "one" })
        const both = await Promise.all([sends(tenant)(file, { key }), sends(tenant)(file, { key })])
        const repeated = await sends(tenant)(file, { key })
        assert.strictEqual(new Set([...both, repeated].map(({ json }) => json.snapshot.id)).size, 1)
        const other = await sends(tenant)(await snapshotFile({ name: "two" }), { key })
        assert.deepStrictEqual([other.status, other.json.code], [409, "IDEMPOTENCY_CONFLICT"])
        const { json } = await tenant.send("GET", "/snapshots")
        assert.strictEqual(json.snapshots.length, 1)
      })
    )

    it.effect("is 400 where it is no whole snapshot file or does not fit here, and leaves nothing", () =>
      withTenant(async (tenant, { world }) => {
        const good = await snapshotFile({}, [{ offset: 0, bytes: Buffer.alloc(8192, "x") }])
        const flipped = Buffer.from(good)
        flipped[good.length - 20]! ^= 1
        const { profile } = snapshotHeader
        const bad: ReadonlyArray<readonly [string, Buffer]> = [
          ["ends too soon", Buffer.from("owned")],
          ["no snapshot file of Atoll", Buffer.alloc(100)],
          ["ends too soon", good.subarray(0, good.length - 20)],
          ["whole snapshot file", flipped],
          ["8 bytes", await snapshotFile({ profile: { ...profile, diskBytes: 2 ** 40 } })],
          ["8 bytes", await snapshotFile({ sizeBytes: 2 ** 40 })],
          ["runtime vm", await snapshotFile({ runtime: "vm" })]
        ]
        const before = new Set(world.images.keys())
        for (const [why, body] of bad) {
          const { status, json } = await sends(tenant)(body)
          assert.strictEqual(status, 400, why)
          if (!why.startsWith("8")) assert.include(json.details.issues[0].message, why)
        }
        const tooLong = await sends(tenant)(good, { query: "&expiresAt=2020-01-01T00:00:00Z" })
        assert.deepStrictEqual([tooLong.status, tooLong.json.details.issues[0].path], [400, ["expiresAt"]])
        // The client is still sending when it is refused.
        const rest = randomBytes(48 * MiB)
        for (const head of [await snapshotFile({ runtime: "vm" }), Buffer.alloc(100)]) {
          assert.strictEqual((await sends(tenant)(Buffer.concat([head, rest]))).status, 400)
        }
        assert.deepStrictEqual(new Set(world.images.keys()), before)
        assert.deepStrictEqual((await tenant.send("GET", "/snapshots")).json.snapshots, [])
      })
    )

    it.effect("is for its account, and for keys with the scope; a snapshot that is not ready has none", () =>
      withTenant(async (tenant, api) => {
        const id = await tenant.ready(await tenant.running())
        const stranger = await snapshotTenant(api)
        assert.strictEqual((await stranger.send("GET", `/snapshots/${id}/content`)).status, 404)
        const read = await tenant.keyWith(["sandbox:read"])
        const at = `/snapshots?workspaceId=${tenant.workspaceId}`
        const ask = { body: await snapshotFile(), headers: { "content-type": snapshotMediaType } }
        assert.strictEqual((await tenant.send("POST", at, { ...ask, key: read })).status, 403)
        assert.strictEqual((await stranger.send("POST", at, ask)).status, 404)
        const { status, json } = await tenant.send("POST", at, { body: {} })
        assert.deepStrictEqual([status, json.details], [415, { expected: snapshotMediaType }])
        await tenant.send("DELETE", `/snapshots/${id}`)
        assert.strictEqual((await tenant.send("GET", `/snapshots/${id}/content`)).status, 404)
      })
    )

    it.effect("counts toward the storage limit of its workspace, before and while it comes", () =>
      withTenant(async (tenant, { world }) => {
        const before = world.images.size
        const pieces = Array.from({ length: 45 }, (_, at) => ({ offset: at * MiB, bytes: Buffer.alloc(MiB, "x") }))
        const large = await snapshotFile({ sizeBytes: 64 * MiB }, pieces)
        const { json, status } = await sends(tenant)(large)
        assert.deepStrictEqual([status, json.code], [429, "STORAGE_LIMIT_REACHED"])
        assert.strictEqual(world.images.size, before)
      })
    )
  })
})
