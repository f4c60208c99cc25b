/** An account's own limits override the settings, in what the API refuses and in what it shows. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { scopes } from "../../../schemas/Access.ts"
import type { OwnLimits } from "../../../src/account/AccountLimits.ts"
import { Accounts } from "../../../src/account/Accounts.ts"
import { TestApi } from "../../support/http/TestApi.ts"

const volumeBytes = 1024 ** 3
const settings = {
  ATOLL_SANDBOXES_PER_ACCOUNT: "3",
  ATOLL_WORKSPACE_STORAGE_BYTES: String(2 * volumeBytes),
  ATOLL_VOLUME_BYTES: String(volumeBytes)
}

const newTenant = async (api: TestApi["Service"], services: Context.Context<Accounts>) => {
  const accounts = Context.get(services, Accounts)
  const name = randomUUID()
  const { secret: key } = await api.newKey(scopes, name)
  const { id } = (await Effect.runPromise(accounts.find(name)))!
  const create = (workspaceId: string) =>
    api.send("POST", "/api/v2/sandboxes", { key, body: { workspaceId }, headers: { "idempotency-key": randomUUID() } })
  return {
    key,
    limit: (limits: Partial<OwnLimits>) => Effect.runPromise(accounts.setLimits(id, limits)),
    create,
    /** The first refusal among many creates in one workspace, and the number of creates before it. */
    untilRefused: async (workspaceId: string) => {
      for (let made = 0; ; made++) {
        const answer = await create(workspaceId)
        if (answer.status !== 202) return { made, status: answer.status, ...answer.json }
      }
    },
    workspace: () =>
      api.send("POST", "/api/v2/workspaces", {
        key,
        body: { name: "w" },
        headers: { "idempotency-key": randomUUID() }
      }),
    told: async () => {
      const { profile: _, ...limits } = (await api.send("GET", "/api/v2/me", { key })).json.limits
      return limits
    },
    workspaces: async () => (await api.send("GET", "/api/v2/workspaces", { key })).json.workspaces
  }
}

const withTenant = <A>(test: (tenant: Awaited<ReturnType<typeof newTenant>>) => Promise<A>) =>
  Effect.gen(function* () {
    const api = yield* TestApi
    const services = yield* Effect.context<Accounts>()
    return yield* Effect.promise(async () => test(await newTenant(api, services)))
  })

const service = Accounts.layer.pipe(Layer.provideMerge(TestApi.layer(settings)))

layer(service, { excludeTestServices: true })("an account's own limits", (it) => {
  it.effect("default to the settings, before they are set and after they are removed; each is independent", () =>
    withTenant(async ({ limit, told }) => {
      const byDefault = { workspaces: 10, sandboxes: 3, workspaceStorageBytes: 2 * volumeBytes }
      assert.deepStrictEqual(await told(), byDefault)
      await limit({ sandboxes: 5 })
      assert.deepStrictEqual(await told(), { ...byDefault, sandboxes: 5 })
      await limit({ workspaces: 1, workspaceStorageBytes: 2 ** 53 - 1 })
      assert.deepStrictEqual(await told(), { workspaces: 1, sandboxes: 5, workspaceStorageBytes: 2 ** 53 - 1 })
      await limit({ sandboxes: null, workspaces: null, workspaceStorageBytes: null })
      assert.deepStrictEqual(await told(), byDefault)
    })
  )

  it.effect("of Sandboxes hold at creates, raised and lowered, and keep existing Sandboxes", () =>
    withTenant(async ({ limit, workspace, untilRefused, create }) => {
      const [first, second] = [(await workspace()).json.workspace.id, (await workspace()).json.workspace.id]
      await limit({ sandboxes: 1 })
      assert.deepInclude(await untilRefused(first), {
        made: 1,
        status: 429,
        code: "SANDBOX_LIMIT_REACHED",
        details: { limit: 1 }
      })
      await limit({ sandboxes: 4 })
      assert.strictEqual((await create(first)).status, 202)
      assert.deepInclude(await untilRefused(second), { made: 2, code: "SANDBOX_LIMIT_REACHED", details: { limit: 4 } })
      await limit({ sandboxes: 0 })
      assert.deepInclude(await untilRefused(second), { made: 0, details: { limit: 0 } })
    })
  )

  it.effect("of a workspace's storage hold at creates, and are the limits that workspaces show", () =>
    withTenant(async ({ limit, workspace, untilRefused, workspaces }) => {
      await limit({ workspaceStorageBytes: volumeBytes })
      const made = (await workspace()).json.workspace
      assert.strictEqual(made.storageLimitBytes, volumeBytes)
      assert.deepInclude(await untilRefused(made.id), {
        made: 1,
        status: 429,
        code: "STORAGE_LIMIT_REACHED",
        details: { limitBytes: volumeBytes }
      })
      await limit({ workspaceStorageBytes: 3 * volumeBytes })
      assert.deepInclude((await workspaces())[0], { storageLimitBytes: 3 * volumeBytes, storageBytes: volumeBytes })
      assert.deepInclude(await untilRefused(made.id), { made: 2 })
    })
  )

  it.effect("of workspaces hold at creates", () =>
    withTenant(async ({ limit, workspace }) => {
      await limit({ workspaces: 1 })
      assert.strictEqual((await workspace()).status, 201)
      const refused = await workspace()
      assert.deepStrictEqual(
        [refused.status, refused.json.code, refused.json.details],
        [409, "WORKSPACE_QUOTA_EXCEEDED", { limit: 1 }]
      )
      await limit({ workspaces: 12 })
      for (let count = 2; count <= 12; count++) assert.strictEqual((await workspace()).status, 201)
      assert.deepStrictEqual((await workspace()).json.details, { limit: 12 })
    })
  )

  it.effect("are null for an unknown account", () =>
    Effect.gen(function* () {
      assert.isNull(yield* (yield* Accounts).setLimits("acc_nothing", { sandboxes: 1 }))
    })
  )
})
