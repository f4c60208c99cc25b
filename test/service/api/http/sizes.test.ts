/** Sizes that a request names: their bounds, their quota, and what they cost. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { scopes } from "../../../../schemas/Access.ts"
import { TestApi } from "../../../support/http/TestApi.ts"

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
    get: (path: string) => api.send("GET", `/api/v2${path}`, { key }),
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
              message: `Must be from ${256 * MiB} to ${GiB} on this server.`
            },
            { path: ["profile", "diskBytes"], message: `Must be from ${256 * MiB} to ${4 * GiB} on this server.` }
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
})
