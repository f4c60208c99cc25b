/** Sizes that a request names: their bounds, their quota, and what they cost. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { scopes } from "../../../../schemas/Access.ts"
import { verifyUsage } from "../../../../src/wallet/verify/verifyUsage.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilFound } from "../../../support/until.ts"

const MiB = 1024 ** 2
const GiB = 1024 ** 3
const settings = {
  ATOLL_SANDBOX_VCPUS: "0.5",
  ATOLL_SANDBOX_VCPUS_MIN: "0.2",
  ATOLL_SANDBOX_VCPUS_MAX: "2.5",
  ATOLL_SANDBOX_MEMORY_BYTES: String(512 * MiB),
  ATOLL_SANDBOX_MEMORY_BYTES_MAX: String(GiB),
  ATOLL_VOLUME_BYTES: String(GiB),
  ATOLL_VOLUME_BYTES_MAX: String(4 * GiB),
  ATOLL_WORKSPACE_STORAGE_BYTES: String(5 * GiB)
}
const usual = { vcpus: 0.5, memoryBytes: 512 * MiB, diskBytes: GiB }

const newTenant = async (api: TestApi["Service"]) => {
  const { secret: key } = await api.newKey(scopes, randomUUID())
  const post = (path: string, body: unknown, idempotencyKey: string = randomUUID()) =>
    api.send("POST", `/api/v2${path}`, { key, body, headers: { "idempotency-key": idempotencyKey } })
  const workspaceId = (await post("/workspaces", { name: "w" })).json.workspace.id
  return {
    send: (method: string, path: string, body?: unknown) =>
      api.send(method, `/api/v2${path}`, { key, ...(body === undefined ? {} : { body }) }),
    get: (path: string) => api.send("GET", `/api/v2${path}`, { key }),
    begin: (profile: unknown) => post("/sandboxes", { workspaceId, networkEnabled: false, profile }),
    create: (profile: unknown, idempotencyKey?: string) =>
      post("/sandboxes?wait=running", { workspaceId, networkEnabled: false, profile }, idempotencyKey)
  }
}

const withTenant = <A>(test: (tenant: Awaited<ReturnType<typeof newTenant>>) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await newTenant(api))))

layer(TestApi.layer(settings), { excludeTestServices: true })("a Sandbox's sizes", (it) => {
  it.effect("are the operator's where a request names none", () =>
    withTenant(async ({ create }) => {
      for (const profile of [undefined, null, {}, { vcpus: null }]) {
        const { status, json } = await create(profile)
        assert.deepStrictEqual([status, json.sandbox.profile], [201, usual])
      }
    })
  )

  it.effect("are those that a request names, with tenths of a vCPU, also for its replay", () =>
    withTenant(async ({ create }) => {
      const key = randomUUID()
      const profile = { vcpus: 1.3, memoryBytes: 300 * MiB, diskBytes: 2 * GiB }
      const made = await create(profile, key)
      assert.deepStrictEqual([made.status, made.json.sandbox.profile], [201, profile])
      assert.strictEqual(made.json.sandbox.volume.sizeBytes, 2 * GiB)
      assert.deepStrictEqual((await create(profile, key)).json.sandbox, made.json.sandbox)
      assert.strictEqual((await create({ ...profile, vcpus: 1.4 }, key)).status, 409)
      assert.deepStrictEqual((await create({ vcpus: 2.5 })).json.sandbox.profile, { ...usual, vcpus: 2.5 })
    })
  )

  it.effect("beyond the operator's bounds are refused with the field and the bounds, which /me shows", () =>
    withTenant(async ({ create, get }) => {
      const { profile } = (await get("/me")).json.limits
      assert.deepStrictEqual(profile, {
        vcpus: { minimum: 0.2, maximum: 2.5, default: 0.5 },
        memoryBytes: { minimum: 256 * MiB, maximum: GiB, default: 512 * MiB },
        diskBytes: { minimum: 256 * MiB, maximum: 4 * GiB, default: GiB }
      })
      const refused = await create({ vcpus: 2.6, memoryBytes: 255 * MiB, diskBytes: 5 * GiB })
      assert.deepStrictEqual(
        [refused.status, refused.json.details.issues],
        [
          400,
          [
            { path: ["profile", "vcpus"], message: "Must be from 0.2 to 2.5 on this server." },
            {
              path: ["profile", "memoryBytes"],
              message: `Must be from ${256 * MiB} to ${GiB} bytes (256 to 1024 MiB) on this server.`
            },
            {
              path: ["profile", "diskBytes"],
              message: `Must be from ${256 * MiB} to ${4 * GiB} bytes (256 to 4096 MiB) on this server.`
            }
          ]
        ]
      )
    })
  )

  it.effect("are tenths and whole MiB, and nothing else", () =>
    withTenant(async ({ create }) => {
      for (const [field, value] of [
        ["vcpus", 0.25],
        ["vcpus", 0],
        ["vcpus", -1],
        ["vcpus", "1"],
        ["vcpus", 1e300],
        ["memoryBytes", 512 * MiB + 1],
        ["memoryBytes", 512.5 * MiB + 0.5],
        ["diskBytes", GiB - 1],
        ["diskBytes", 2 ** 60],
        ["disk", GiB]
      ] as const) {
        const { status, json } = await create({ [field]: value })
        assert.deepStrictEqual(
          [status, json.details?.issues?.[0]?.path],
          [400, ["profile", field]],
          `${field} ${value}`
        )
      }
    })
  )

  it.effect("count toward the storage of the workspace", () =>
    withTenant(async ({ create }) => {
      assert.strictEqual((await create({ diskBytes: 4 * GiB })).status, 201)
      const refused = await create({ diskBytes: GiB + MiB })
      assert.deepStrictEqual([refused.status, refused.json.code], [429, "STORAGE_LIMIT_REACHED"])
      assert.strictEqual((await create({ diskBytes: GiB })).status, 201)
    })
  )

  const resized = (tenant: Awaited<ReturnType<typeof newTenant>>, id: string, profile: unknown) =>
    tenant.send("PATCH", `/sandboxes/${id}`, { profile })

  it.effect("change by part, in the transition log and on the host while it runs; the same again changes nothing", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const tenant = yield* Effect.promise(() => newTenant(api))
      yield* Effect.promise(async () => {
        const { id } = (await tenant.create({ diskBytes: GiB })).json.sandbox
        const larger = { vcpus: 2.1, memoryBytes: 512 * MiB, diskBytes: 2 * GiB }
        const { status, json } = await resized(tenant, id, { vcpus: 2.1, diskBytes: 2 * GiB, memoryBytes: null })
        assert.deepStrictEqual([status, json.sandbox.profile], [200, larger])
        assert.strictEqual(json.sandbox.volume.sizeBytes, 2 * GiB)
        await untilFound(() => {
          const spec = api.world.machines.get(id)?.spec
          return spec?.vcpus === 2.1 && spec.volumeBytes === 2 * GiB
        })
        assert.deepStrictEqual((await resized(tenant, id, { vcpus: 2.1 })).json.sandbox.profile, larger)
        const { transitions } = (await tenant.get(`/sandboxes/${id}/transitions`)).json
        assert.deepStrictEqual(
          (transitions as ReadonlyArray<{ event: { type: string; changes?: unknown } }>)
            .filter(({ event }) => event.type === "CHANGED")
            .map(({ event }) => event.changes),
          [{ profile: larger }]
        )
      })
    })
  )

  it.effect("change while it is stopped, and are those of its next boot", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const tenant = yield* Effect.promise(() => newTenant(api))
      yield* Effect.promise(async () => {
        const { id } = (await tenant.create({})).json.sandbox
        await tenant.send("POST", `/sandboxes/${id}/stop`)
        const { json } = await resized(tenant, id, { memoryBytes: GiB })
        assert.deepStrictEqual([json.sandbox.status, json.sandbox.profile.memoryBytes], ["stopped", GiB])
        await tenant.send("POST", `/sandboxes/${id}/start?wait=running`)
        assert.strictEqual(api.world.machines.get(id)?.spec.memoryBytes, GiB)
        await tenant.send("DELETE", `/sandboxes/${id}`)
        assert.strictEqual((await resized(tenant, id, { vcpus: 1 })).status, 404)
      })
    })
  )

  it.effect("are those of a boot that they change under", () =>
    Effect.gen(function* () {
      const api = yield* TestApi
      const tenant = yield* Effect.promise(() => newTenant(api))
      const held = yield* Deferred.make<void>()
      let arrivals = 0
      api.world.intercept = (call) =>
        Effect.suspend(() => (call === "provision" && ++arrivals === 1 ? Deferred.await(held) : Effect.void))
      yield* Effect.promise(async () => {
        const { id } = (await tenant.begin({})).json.sandbox
        await untilFound(() => arrivals > 0)
        const { json } = await resized(tenant, id, { vcpus: 1.5 })
        assert.deepStrictEqual([json.sandbox.status, json.sandbox.profile.vcpus], ["pending", 1.5])
        Effect.runSync(Deferred.succeed(held, undefined))
        await untilFound(async () => (await tenant.get(`/sandboxes/${id}`)).json.sandbox.status === "running")
        assert.strictEqual(api.world.machines.get(id)?.spec.vcpus, 1.5)
        api.world.intercept = () => Effect.void
      })
    })
  )

  it.effect("beyond bounds, beyond the workspace's storage or smaller for a volume change nothing", () =>
    withTenant(async (tenant) => {
      const { id, profile } = (await tenant.create({ diskBytes: 2 * GiB })).json.sandbox
      const shrunk = await resized(tenant, id, { vcpus: 1, diskBytes: GiB })
      assert.deepStrictEqual(
        [shrunk.status, shrunk.json.details.issues],
        [400, [{ path: ["profile", "diskBytes"], message: `A volume never shrinks: this one has ${2 * GiB} bytes.` }]]
      )
      const most = await resized(tenant, id, { vcpus: 3 })
      assert.deepStrictEqual([most.status, most.json.details.issues[0].path], [400, ["profile", "vcpus"]])
      assert.strictEqual((await tenant.create({ diskBytes: 2 * GiB })).status, 201)
      const full = await resized(tenant, id, { diskBytes: 3 * GiB + MiB })
      assert.deepStrictEqual([full.status, full.json.code], [429, "STORAGE_LIMIT_REACHED"])
      assert.deepStrictEqual((await tenant.get(`/sandboxes/${id}`)).json.sandbox.profile, profile)
      assert.strictEqual((await resized(tenant, id, { diskBytes: 3 * GiB })).status, 200)
    })
  )

  it.effect("of concurrent changes never exceed the workspace's storage", () =>
    withTenant(async (tenant) => {
      const made = await Promise.all([1, 2, 3].map(() => tenant.create({ diskBytes: GiB })))
      const answers = await Promise.all(
        made.map(({ json }) => resized(tenant, json.sandbox.id, { diskBytes: 2 * GiB, vcpus: 1 }))
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 429])
    })
  )

  it.effect("cost what they are from their change on", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const api = yield* TestApi
      const tenant = yield* Effect.promise(() => newTenant(api))
      const id = yield* Effect.promise(async () => {
        const { id } = (await tenant.create({ vcpus: 0.3, diskBytes: GiB })).json.sandbox
        await resized(tenant, id, { vcpus: 2.5, diskBytes: 2 * GiB })
        await tenant.send("POST", `/sandboxes/${id}/stop`)
        await resized(tenant, id, { diskBytes: 3 * GiB })
        await tenant.send("DELETE", `/sandboxes/${id}`)
        return id as string
      })
      const posted = sql<{ at: string }>`select 1 from meters where sandbox_id = ${id} and closed_at is not null`
      yield* Effect.promise(() => untilFound(async () => (await Effect.runPromise(posted)).length > 0))
      const segments = yield* sql<{ sizes: string }>`
        select distinct case when is_running then milli_vcpus end || ' ' || volume_bytes / ${BigInt(GiB)} as sizes from segments
        where sandbox_id = ${id} and sign = 1 order by 1`
      assert.deepStrictEqual(
        segments.map(({ sizes }) => sizes),
        ["2500 2", "300 1", null]
      )
      assert.deepStrictEqual((yield* verifyUsage(sql, null)).differences, [])
    })
  )
})
