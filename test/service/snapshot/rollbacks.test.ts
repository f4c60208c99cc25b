/** Rollbacks over HTTP: the volume of then in the same Sandbox, and what is kept, refused or left as it was. */
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"
import { untilFound, untilSeen } from "../../support/until.ts"

const withTenant = <A>(test: (tenant: SnapshotTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) =>
    Effect.promise(async () => test(await snapshotTenant(api), api)).pipe(
      Effect.ensuring(Effect.sync(() => (api.world.intercept = () => Effect.void)))
    )
  )

const rollsBack =
  ({ send, keyed }: SnapshotTenant) =>
  (sandboxId: string, body: object, name?: string) =>
    send("POST", `/sandboxes/${sandboxId}/rollback`, { body, headers: name === undefined ? {} : keyed(name) })

const outcomeIs = ({ send }: SnapshotTenant, sandboxId: string, outcome: string) =>
  untilSeen(
    () => send("GET", `/sandboxes/${sandboxId}`),
    ({ json }) => json.sandbox.rollback?.outcome === outcome
  ).then(({ json }) => json.sandbox)

describe.skipIf(isOverAFleet)("a rollback", () => {
  layer(TestApi.layer({ ATOLL_SNAPSHOTS_PER_ACCOUNT: "4", ATOLL_VOLUME_BYTES: "1048576" }), {
    excludeTestServices: true
  })((it) => {
    it.effect("of a running Sandbox keeps its volume, restores the snapshot's, and boots it again", () =>
      withTenant(async (tenant, api) => {
        const { send, running, ready, untilIs } = tenant
        const id = await running({ name: "dev" })
        const snapshotId = await ready(id)
        const command = await send("POST", `/sandboxes/${id}/operations`, {
          body: { argv: ["hang"] },
          headers: tenant.keyed()
        })
        const calls: Array<string> = []
        api.world.intercept = (call) => Effect.sync(() => void calls.push(call))
        const { status, json } = await rollsBack(tenant)(id, { snapshotId }, "key")
        assert.strictEqual(status, 202)
        assert.strictEqual(json.sandbox.id, id)
        assert.deepInclude(json.kept, { sandboxId: id, name: "Before a rollback" })
        const day = Date.parse(json.kept.expiresAt) - Date.parse(json.kept.createdAt)
        assert.isAtMost(Math.abs(day - 86_400_000), 10_000)
        const sandbox = await untilIs("sandbox", id, "running")
        assert.deepInclude(sandbox, { name: "dev", generation: 2 })
        assert.deepInclude(sandbox.rollback, {
          snapshotId,
          keptSnapshotId: json.kept.id,
          outcome: "done",
          reason: null
        })
        assert.deepStrictEqual(api.world.restored.get(id), { snapshotId, generation: 1 })
        // The volume is copied after the stop and before it is replaced.
        const order = calls.filter((call) => ["stop", "capture", "restore", "provision"].includes(call))
        assert.deepStrictEqual(order, ["stop", "capture", "stop", "restore", "provision"])
        assert.strictEqual((await untilIs("snapshot", json.kept.id, "ready")).pausedMs, 0)
        const { operation } = (await send("GET", `/sandboxes/${id}/operations/${command.json.operation.id}`)).json
        assert.deepInclude(operation, { status: "failed" })
        assert.strictEqual(operation.reason.code, "SANDBOX_ROLLED_BACK")
        const again = await rollsBack(tenant)(id, { snapshotId }, "key")
        assert.deepStrictEqual([again.status, again.json.kept.id], [202, json.kept.id])
        assert.strictEqual(again.json.sandbox.generation, 2)
        const other = await rollsBack(tenant)(id, { snapshotId, keep: false }, "key")
        assert.strictEqual(other.json.code, "IDEMPOTENCY_CONFLICT")
        const { parents } = (await send("GET", `/sandboxes/${id}/lineage`)).json
        assert.deepStrictEqual(parents, [{ snapshotId, sandboxId: id }])
      })
    )

    it.effect("asked for twice at the same moment is one rollback, with one snapshot", () =>
      withTenant(async (tenant) => {
        const id = await tenant.running()
        const snapshotId = await tenant.ready(id)
        const answers = await Promise.all([1, 2, 3].map(() => rollsBack(tenant)(id, { snapshotId }, "twice")))
        assert.deepStrictEqual(
          answers.map(({ status, json }) => [status, json.kept?.id]),
          answers.map(() => [202, answers[0]!.json.kept.id])
        )
        assert.strictEqual((await tenant.untilIs("sandbox", id, "running")).generation, 2)
        await tenant.untilIs("snapshot", answers[0]!.json.kept.id, "ready")
      })
    )

    it.effect("of a stopped Sandbox leaves it stopped, with the next generation; what slept runs again", () =>
      withTenant(async (tenant, api) => {
        const { send, running, ready, untilIs } = tenant
        const id = await running()
        const snapshotId = await ready(id)
        await send("POST", `/sandboxes/${id}/stop`)
        const { json } = await rollsBack(tenant)(id, { snapshotId, keep: false })
        assert.strictEqual(json.kept, null)
        assert.deepInclude(await outcomeIs(tenant, id, "done"), { status: "stopped", generation: 2 })
        await send("POST", `/sandboxes/${id}/start?wait=running`)
        assert.strictEqual((await send("GET", `/sandboxes/${id}`)).json.sandbox.generation, 3)
        assert.include(api.world.boots, `${id}#3`)
        await rollsBack(tenant)(id, { snapshotId, keep: false })
        await untilIs("sandbox", id, "running")
        await send("DELETE", `/sandboxes/${id}`)
      })
    )

    it.effect("does what was asked last: a stop or a start meanwhile, and a deletion immediately", () =>
      withTenant(async (tenant, api) => {
        const { send, running, ready } = tenant
        const [id, gone] = [await running(), await running()]
        const snapshotId = await ready(id)
        const gate = Deferred.makeUnsafe<void>()
        api.world.intercept = (call) => (call === "restore" ? Deferred.await(gate) : Effect.void)
        for (const sandboxId of [id, gone]) {
          await rollsBack(tenant)(sandboxId, { snapshotId, keep: false })
          await tenant.untilIs("sandbox", sandboxId, "restoring")
        }
        const refused = await rollsBack(tenant)(id, { snapshotId })
        assert.deepStrictEqual([refused.status, refused.json.code], [409, "SANDBOX_CANNOT_ROLL_BACK"])
        assert.strictEqual((await send("DELETE", `/sandboxes/${gone}`)).status, 204)
        // The snapshot stays as long as the rollback needs it.
        const removed = send("DELETE", `/snapshots/${snapshotId}`)
        await tenant.untilIs("snapshot", snapshotId, "deleting")
        const stopped = send("POST", `/sandboxes/${id}/stop`)
        await untilFound(async () => {
          const { transitions } = (await send("GET", `/sandboxes/${id}/transitions`)).json
          return transitions.some(({ event }: { event: { type: string } }) => event.type === "STOP")
        })
        assert.isTrue(api.world.snapshots.has(snapshotId))
        Deferred.doneUnsafe(gate, Effect.void)
        assert.deepInclude((await stopped).json.sandbox, { status: "stopped", generation: 2 })
        assert.strictEqual(api.world.restored.get(id)?.snapshotId, snapshotId)
        assert.strictEqual((await removed).status, 204)
        await tenant.untilIs("snapshot", snapshotId, "deleted")
      })
    )

    it.effect("that cannot keep the present volume, or has no room, leaves it as it was and boots it again", () =>
      withTenant(async (tenant, api) => {
        const { running, ready, untilIs } = tenant
        const id = await running()
        const snapshotId = await ready(id)
        for (const refused of ["capture", "restore"]) {
          api.world.intercept = (call) =>
            call === refused
              ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
              : Effect.void
          await rollsBack(tenant)(id, { snapshotId })
          const sandbox = await outcomeIs(tenant, id, "failed")
          assert.strictEqual(sandbox.rollback.reason.code, refused === "capture" ? "NOT_KEPT" : "HOST_FULL")
          assert.include(sandbox.rollback.reason.message, "No room.")
          await untilIs("sandbox", id, "running")
          assert.isFalse(api.world.restored.has(id))
          await tenant.send("DELETE", `/snapshots/${sandbox.rollback.keptSnapshotId}`)
        }
      })
    )

    it.effect("is refused for a snapshot that is not ready or does not fit, and leaves nothing behind", () =>
      withTenant(async (tenant, api) => {
        const { send, create, running, ready, take, keyWith, untilIs } = tenant
        const small = await running()
        const id = await running({ profile: { diskBytes: 2_097_152 } })
        const snapshotId = await ready(id)
        const roll = rollsBack(tenant)
        const codeOf = async (sandboxId: string, body: object) => {
          const { status, json } = await roll(sandboxId, body)
          return [status, json.code, json.details?.differs]
        }
        assert.deepStrictEqual(await codeOf(small, { snapshotId }), [409, "SNAPSHOT_DOES_NOT_FIT", "disk"])
        const other = await send("POST", "/workspaces", { body: { name: "other" }, headers: tenant.keyed() })
        const elsewhere = (await create({ workspaceId: other.json.workspace.id })).json.sandbox.id
        await untilIs("sandbox", elsewhere, "running")
        assert.deepStrictEqual(await codeOf(elsewhere, { snapshotId }), [409, "SNAPSHOT_DOES_NOT_FIT", "workspace"])
        const unknown = `${snapshotId.slice(0, -4)}0000`
        assert.deepStrictEqual((await codeOf(id, { snapshotId: unknown }))[0], 404)
        const gate = Deferred.makeUnsafe<void>()
        api.world.intercept = (call) => (call === "capture" ? Deferred.await(gate) : Effect.void)
        const waiting = (await take(id)).json.snapshot.id
        assert.deepStrictEqual(await codeOf(id, { snapshotId: waiting }), [409, "SNAPSHOT_NOT_READY", undefined])
        Deferred.doneUnsafe(gate, Effect.void)
        const key = await keyWith(["sandbox:create"])
        const dropped = await send("POST", `/sandboxes/${id}/rollback`, { body: { snapshotId, keep: false }, key })
        assert.deepStrictEqual([dropped.status, dropped.json.code], [403, "SCOPE_REQUIRED"])
        await untilIs("snapshot", waiting, "ready")
        await take(id)
        await take(id)
        assert.deepStrictEqual(await codeOf(id, { snapshotId }), [429, "SNAPSHOT_LIMIT_REACHED", undefined])
        assert.lengthOf((await send("GET", "/snapshots")).json.snapshots, 4)
        assert.strictEqual((await send("GET", `/sandboxes/${id}`)).json.sandbox.status, "running")
      })
    )
  })
})
