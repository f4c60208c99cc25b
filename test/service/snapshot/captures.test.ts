/** Captures and removals against deletions, first boots and failing hosts. */
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import type { SimulatedCall } from "../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeRefused, RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"
import { untilFound } from "../../support/until.ts"

const withTenant = <A>(test: (tenant: SnapshotTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) =>
    Effect.promise(async () => test(await snapshotTenant(api), api)).pipe(
      Effect.ensuring(Effect.sync(() => (api.world.intercept = () => Effect.void)))
    )
  )

/** Calls of one kind wait until they are let go; `began` counts those that have come. */
const hold = ({ world }: TestApi["Service"], held: SimulatedCall) => {
  const gate = Deferred.makeUnsafe<void>()
  const calls = { began: 0, ended: 0 }
  world.intercept = (call) => {
    if (call !== held) return Effect.void
    calls.began++
    return Deferred.await(gate).pipe(Effect.onExit(() => Effect.sync(() => void calls.ended++)))
  }
  return { calls, letGo: () => Effect.runPromise(Deferred.succeed(gate, undefined)) }
}

describe.skipIf(isOverAFleet)("a capture", () => {
  layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), { excludeTestServices: true })((it) => {
    it.effect("a deletion wins over a capture that ends late, and leaves no image", () =>
      withTenant(async ({ send, running, take }, api) => {
        const source = await running()
        const { calls } = hold(api, "capture")
        const { id } = (await take(source)).json.snapshot
        await untilFound(() => calls.began === 1)
        // As a driver that had finished when it was told to give up.
        api.world.snapshots.set(id, source)
        assert.strictEqual((await send("DELETE", `/snapshots/${id}`)).status, 204)
        assert.strictEqual(calls.ended, 1)
        const { snapshot } = (await send("GET", `/snapshots/${id}`)).json
        assert.deepInclude(snapshot, { status: "deleted", readyAt: null, sizeBytes: null })
        assert.isFalse(api.world.snapshots.has(id))
      })
    )

    it.effect("that expires while it runs is given up", () =>
      withTenant(async ({ running, take, untilIs }, api) => {
        const source = await running()
        hold(api, "capture")
        const { id } = (await take(source, { expiresAt: new Date(Date.now() + 300).toISOString() })).json.snapshot
        assert.isNull((await untilIs("snapshot", id, "deleted")).readyAt)
      })
    )

    it.effect("that fails says why, counts until it is deleted, and leaves nothing on the host", () =>
      withTenant(async ({ send, running, take, untilIs }, api) => {
        const source = await running()
        api.world.intercept = (call, id) =>
          call === "capture"
            ? Effect.andThen(
                Effect.sync(() => api.world.snapshots.set(id, source)),
                new RuntimeRefused({ code: "HOST_FULL", message: publicText`The host has no room.` })
              )
            : Effect.void
        const { id } = (await take(source)).json.snapshot
        const failed = await untilIs("snapshot", id, "failed")
        assert.deepStrictEqual(failed.statusReason, { code: "HOST_FULL", message: "The host has no room." })
        await untilFound(() => !api.world.snapshots.has(id))
        assert.strictEqual((await send("DELETE", `/snapshots/${id}`)).status, 204)
        assert.strictEqual((await send("GET", `/snapshots/${id}`)).json.snapshot.status, "deleted")
      })
    )

    it.effect("is tried again when the host does not answer, and so is the removal of its image", () =>
      withTenant(async ({ send, ready, running }, api) => {
        let faults = 4
        api.world.intercept = (call) =>
          Effect.suspend(() => {
            if ((call !== "capture" && call !== "removeSnapshot") || faults <= 0 || faults-- % 2 === 1)
              return Effect.void
            return Effect.fail(new RuntimeUnavailable({ message: "not now" }))
          })
        const id = await ready(await running())
        await send("DELETE", `/snapshots/${id}`)
        assert.isFalse(api.world.snapshots.has(id))
        assert.strictEqual((await send("GET", `/snapshots/${id}`)).json.snapshot.status, "deleted")
      })
    )

    it.effect("a deletion waits for a first boot that needs the image", () =>
      withTenant(async ({ send, ready, running, create, untilIs }, api) => {
        const snapshotId = await ready(await running())
        const { calls, letGo } = hold(api, "provision")
        const { id } = (await create({ snapshotId })).json.sandbox
        await untilFound(() => calls.began === 1)
        const deletion = send("DELETE", `/snapshots/${snapshotId}`)
        await untilIs("snapshot", snapshotId, "deleting")
        assert.isTrue(api.world.snapshots.has(snapshotId))
        assert.strictEqual((await create({ snapshotId })).json.code, "SNAPSHOT_NOT_READY")
        await letGo()
        await untilIs("sandbox", id, "running")
        await deletion
        await untilIs("snapshot", snapshotId, "deleted")
        assert.strictEqual(api.world.origins.get(id), snapshotId)
      })
    )

    it.effect("a Sandbox whose snapshot is not on the host has failed, and says so", () =>
      withTenant(async ({ send, ready, running, create, untilIs }, api) => {
        const snapshotId = await ready(await running())
        api.world.snapshots.delete(snapshotId)
        const made = await create({ snapshotId }, "key")
        const failed = await untilIs("sandbox", made.json.sandbox.id, "failed")
        assert.deepStrictEqual(failed.statusReason, {
          code: "SNAPSHOT_MISSING",
          message: "The snapshot is not on the host."
        })
        const again = await create({ snapshotId }, "key")
        assert.deepStrictEqual([again.status, again.json.sandbox.status], [201, "failed"])
        assert.strictEqual((await send("DELETE", `/sandboxes/${failed.id}`)).status, 204)
      })
    )
  })
})
