/** Forks at a revision: they begin from the newest snapshot at or before it, and say what that does not contain. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"
import { untilSeen } from "../../support/until.ts"

const withTenant = <A>(test: (tenant: SnapshotTenant) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) => Effect.promise(async () => test(await snapshotTenant(api))))

const restart = async ({ send, keyed }: SnapshotTenant, id: string) => {
  await send("POST", `/sandboxes/${id}/stop`)
  await send("POST", `/sandboxes/${id}/start`, { body: {}, headers: keyed() })
}

/** Its revision. */
const revisionOf = async ({ send }: SnapshotTenant, id: string): Promise<number> =>
  (await send("GET", `/sandboxes/${id}/transitions?limit=1000`)).json.stored.revision

/** The id of an operation that has ended. */
const run = async ({ send, keyed }: SnapshotTenant, id: string): Promise<string> => {
  const { json } = await send("POST", `/sandboxes/${id}/operations`, {
    body: { argv: ["echo"], timeoutSeconds: 20 },
    headers: keyed()
  })
  const path = `/sandboxes/${id}/operations/${json.operation.id}`
  await untilSeen(
    () => send("GET", path),
    (answer) => answer.json.operation.status === "completed",
    { otherwise: ({ text }) => text }
  )
  return json.operation.id
}

describe.skipIf(isOverAFleet)("a fork at a revision", () => {
  layer(TestApi.layer({ ATOLL_VOLUME_BYTES: "1048576" }), { excludeTestServices: true })((it) => {
    it.effect(
      "takes the newest snapshot at or before it, and says what is missing; a repeated key gives the same",
      () =>
        withTenant(async (tenant) => {
          const { running, ready, fork, send, untilIs } = tenant
          const source = await running({ name: "source", env: { TOKEN: "secret" } })
          await run(tenant, source)
          const first = await ready(source)
          const at = await revisionOf(tenant, source)
          const missed = await run(tenant, source)
          await restart(tenant, source)
          const after = await revisionOf(tenant, source)
          const second = await ready(source)

          const body = { atRevision: after - 1, count: 2 }
          const { status, json } = await fork(source, body, "key")
          assert.deepStrictEqual([status, json.snapshot?.id, json.refused], [202, first, []], JSON.stringify(json))
          assert.deepStrictEqual(json.missing, {
            ...{ transitions: after - 1 - at, operations: [missed], operationCount: 1 }
          })
          for (const child of json.sandboxes) {
            assert.deepInclude(child, { snapshotId: first, envNames: ["TOKEN"], checkpoints: null })
            await untilIs("sandbox", child.id, "running")
          }
          assert.lengthOf((await send("GET", `/snapshots?sandboxId=${source}`)).json.snapshots, 2)
          const again = (await fork(source, body, "key")).json
          assert.deepStrictEqual(
            [again.snapshot.id, again.sandboxes.map(({ id }: { id: string }) => id), again.missing],
            [first, json.sandboxes.map(({ id }: { id: string }) => id), json.missing]
          )
          assert.strictEqual((await fork(source, { atRevision: after }, "key")).json.code, "IDEMPOTENCY_CONFLICT")
          // Another fork of the same snapshot makes others.
          const other = (await fork(source, { atRevision: at }, "other")).json
          assert.notInclude(
            again.sandboxes.map(({ id }: { id: string }) => id),
            other.sandboxes[0].id
          )
          const latest = (await fork(source, { atRevision: after })).json
          assert.deepInclude(latest, { missing: { transitions: 0, operations: [], operationCount: 0 } })
          assert.strictEqual(latest.snapshot.id, second)
          assert.isNull((await fork(source, {})).json.missing)
        })
    )

    it.effect("works for a deleted Sandbox as long as a snapshot of it is there", () =>
      withTenant(async (tenant) => {
        const { running, ready, fork, send, untilIs } = tenant
        const source = await running()
        const snapshot = await ready(source)
        await send("DELETE", `/sandboxes/${source}`)
        const { json } = await fork(source, { atRevision: await revisionOf(tenant, source) })
        assert.strictEqual(json.snapshot?.id, snapshot, JSON.stringify(json))
        assert.isAbove(json.missing.transitions, 0)
        await untilIs("sandbox", json.sandboxes[0].id, "running")
        await send("DELETE", `/snapshots/${snapshot}`)
        const none = await fork(source, { atRevision: 1 })
        assert.deepStrictEqual([none.status, none.json.details], [409, { oldestRevision: null }])
      })
    )

    it.effect(
      "refuses a revision before all snapshots, one that is not there yet, and what only a new snapshot has",
      () =>
        withTenant(async (tenant) => {
          const { running, ready, fork } = tenant
          const source = await running()
          const none = await fork(source, { atRevision: 1 })
          assert.deepStrictEqual(
            [none.status, none.json.code, none.json.details],
            [409, "NO_SNAPSHOT_AT_REVISION", { oldestRevision: null }]
          )
          await ready(source)
          const revision = await revisionOf(tenant, source)
          assert.deepStrictEqual((await fork(source, { atRevision: 1 })).json.details, { oldestRevision: revision })
          for (const [body, path] of [
            [{ atRevision: revision + 1 }, "atRevision"],
            [{ atRevision: 0 }, "atRevision"],
            [{ atRevision: 1.5 }, "atRevision"],
            [{ atRevision: revision, expiresAt: new Date(Date.now() + 60_000).toISOString() }, "expiresAt"]
          ] as const) {
            const { status, json } = await fork(source, body)
            assert.deepStrictEqual([status, json.details?.issues[0].path], [400, [path]], JSON.stringify(body))
          }
          assert.strictEqual((await fork(source, { atRevision: revision, memory: true })).status, 422)
          const stranger = `sbx_${source.slice(4, -1)}${source.endsWith("0") ? "1" : "0"}`
          assert.strictEqual((await fork(stranger, { atRevision: 1 })).status, 404)
        })
    )
  })
})
