/** The limits of snapshots hold under concurrent creates. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"

/** A simulated image occupies 4 MiB. */
const mebibyte = 1024 ** 2
const volumes = { ATOLL_VOLUME_BYTES: String(mebibyte) }

describe.skipIf(isOverAFleet)("limits of snapshots", () => {
  layer(TestApi.layer({ ...volumes, ATOLL_SNAPSHOTS_PER_ACCOUNT: "3" }), { excludeTestServices: true })((it) => {
    it.effect("the account's number of snapshots is 429, also for concurrent creates", () =>
      Effect.flatMap(TestApi, (api) =>
        Effect.promise(async () => {
          const { send, running, take, untilIs } = await snapshotTenant(api)
          const id = await running()
          const answers = await Promise.all(Array.from({ length: 6 }, () => take(id)))
          const [made, refused] = [202, 429].map((status) => answers.filter((answer) => answer.status === status))
          assert.deepStrictEqual([made!.length, refused!.length], [3, 3])
          for (const { json } of refused!) {
            assert.deepStrictEqual([json.code, json.details], ["SNAPSHOT_LIMIT_REACHED", { limit: 3 }])
          }
          for (const { json } of made!) await untilIs("snapshot", json.snapshot.id, "ready")
          assert.strictEqual((await take(id)).json.code, "SNAPSHOT_LIMIT_REACHED")
          for (const { json } of made!) await send("DELETE", `/snapshots/${json.snapshot.id}`)
          assert.strictEqual((await take(id)).status, 202)
        })
      )
    )
  })

  const small = { ...volumes, ATOLL_WORKSPACE_STORAGE_BYTES: String(6 * mebibyte) }
  layer(TestApi.layer(small), { excludeTestServices: true })((it) => {
    it.effect("the bytes of its snapshots count toward the storage limit of a workspace", () =>
      Effect.flatMap(TestApi, (api) =>
        Effect.promise(async () => {
          const { send, running, ready, create, take, workspaceId } = await snapshotTenant(api)
          const id = await running()
          const snapshotId = await ready(id)
          const stored = async () => (await send("GET", `/workspaces/${workspaceId}`)).json.workspace.storageBytes
          assert.strictEqual(await stored(), 5 * mebibyte)
          assert.strictEqual((await create()).status, 202)
          assert.strictEqual((await create()).json.code, "STORAGE_LIMIT_REACHED")
          assert.deepInclude((await take(id)).json, {
            code: "STORAGE_LIMIT_REACHED",
            details: { limitBytes: 6 * mebibyte }
          })
          const larger = { body: { profile: { diskBytes: 2 * mebibyte } } }
          assert.strictEqual((await send("PATCH", `/sandboxes/${id}`, larger)).json.code, "STORAGE_LIMIT_REACHED")
          await send("DELETE", `/snapshots/${snapshotId}`)
          assert.strictEqual(await stored(), 2 * mebibyte)
          assert.strictEqual((await send("PATCH", `/sandboxes/${id}`, larger)).status, 200)
          assert.strictEqual((await create()).status, 202)
        })
      )
    )
  })
})
