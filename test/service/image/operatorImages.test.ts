/** Images of the operator: what all accounts see of them, and what a change of ATOLL_IMAGES does. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type ImageTenant, imageTenant } from "../../support/image/ImageTenant.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { untilSeen } from "../../support/until.ts"

const reference = "registry.test/team/tools:1"
const base = "base=registry.test/team/base:1"

/** One run of the service with this setting. */
const withSetting = <A>(images: string, test: (api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(() => test(api))).pipe(
    Effect.provide(TestApi.on({ ATOLL_IMAGES: images, ATOLL_IMAGES_PER_ACCOUNT: "1" })),
    Effect.scoped
  )

const listed = async ({ send }: Pick<ImageTenant, "send">) => (await send("GET", "/images")).json.images

/** The operator's image of that name, once it is so. */
const untilListed = async (tenant: Pick<ImageTenant, "send">, name: string, status: string) => {
  const find = async () => (await listed(tenant)).find((image: { readonly name: string }) => image.name === name)
  return await untilSeen(find, (image) => image?.status === status)
}

describe.skipIf(isOverAFleet)("an image of the operator", () => {
  layer(TestDatabase.layer, { excludeTestServices: true })((it) => {
    it.effect("is there for all accounts, costs none of them, counts for none, and none can delete it", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const setting = `tools=${reference}, broken=registry.test/missing:1`
        const failedId = yield* withSetting(setting, async (api) => {
          const [one, other] = [await imageTenant(api), await imageTenant(api)]
          const tools = await untilListed(one, "tools", "ready")
          assert.deepInclude(tools, { reference, operator: true })
          const failed = await untilListed(one, "broken", "failed")
          assert.deepInclude(failed.statusReason, { code: "IMAGE_NOT_FOUND" })
          assert.deepInclude(await untilListed(other, "tools", "ready"), { id: tools.id })
          for (const tenant of [one, other]) {
            const { sandbox } = (await tenant.create({ imageId: tools.id })).json
            await tenant.untilIs("sandboxes", sandbox.id, "running")
            assert.deepInclude(api.world.machines.get(sandbox.id)!.spec.image, { reference, digest: tools.digest })
            const refused = await tenant.send("DELETE", `/images/${tools.id}`)
            assert.deepStrictEqual([refused.status, refused.json.code], [403, "IMAGE_OF_OPERATOR"])
          }
          assert.strictEqual((await one.send("GET", `/images/${tools.id}/transitions`)).status, 200)
          const own = await one.pull({ reference })
          assert.deepStrictEqual([own.status, own.json.image.operator], [202, false])
          assert.strictEqual((await one.pull({ reference })).json.code, "IMAGE_LIMIT_REACHED")
          return failed.id
        })
        // The next start pulls again what has failed.
        yield* withSetting(setting, async (api) => {
          const tenant = await imageTenant(api)
          await untilSeen(
            async () => (await listed(tenant)).filter(({ name }: { readonly name: string }) => name === "broken"),
            (found) => found.length === 1 && found[0].id !== failedId && found[0].status === "failed"
          )
        })
        assert.deepStrictEqual(yield* sql`select sandbox_id from meters where account_id = ''`, [])
      })
    )

    it.effect(
      "stays the same over a restart; another reference is another image, and the former one takes no more",
      () =>
        Effect.gen(function* () {
          const { tenant, first, sandbox } = yield* withSetting(base, async (api) => {
            const tenant = await imageTenant(api)
            const first = await untilListed(tenant, "base", "ready")
            const { sandbox } = (await tenant.create({ imageId: first.id })).json
            await tenant.untilIs("sandboxes", sandbox.id, "running")
            return { tenant, first, sandbox }
          })
          const again = (api: TestApi["Service"]): Pick<ImageTenant, "send"> => ({
            send: (method, path, ask = {}) => api.send(method, `/api/v2${path}`, { key: tenant.key, ...ask })
          })
          yield* withSetting(base, async (api) => {
            const same = (await listed(again(api))).filter(({ name }: { readonly name: string }) => name === "base")
            assert.deepStrictEqual(same, [first])
          })
          yield* withSetting("base=registry.test/team/base:2", async (api) => {
            const { send } = again(api)
            const second = await untilListed({ send }, "base", "ready")
            assert.notStrictEqual(second.id, first.id)
            assert.strictEqual((await send("GET", `/images/${first.id}`)).json.image.status, "deleting")
            const late = await (await imageTenant(api)).create({ imageId: first.id })
            assert.deepStrictEqual([late.status, late.json.details], [409, { status: "deleting" }])
            const started = await send("POST", `/sandboxes/${sandbox.id}/start?wait=running`)
            assert.strictEqual(started.json.sandbox?.status, "running", started.text)
            assert.deepInclude(api.world.machines.get(sandbox.id)!.spec.image, { digest: first.digest })
            assert.strictEqual((await send("DELETE", `/sandboxes/${sandbox.id}`)).status, 204)
            await untilSeen(
              () => send("GET", `/images/${first.id}`),
              ({ json }) => json.image.status === "deleted"
            )
            assert.isFalse(api.world.images.has(first.digest))
          })
        })
    )
  })
})
