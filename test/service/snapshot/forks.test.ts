/** Forks over HTTP: one snapshot, and Sandboxes that live or fail for themselves. */
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../support/http/TestApi.ts"
import { type SnapshotTenant, snapshotTenant } from "../../support/snapshot/SnapshotTenant.ts"

const withTenant = <A>(test: (tenant: SnapshotTenant, api: TestApi["Service"]) => Promise<A>) =>
  Effect.flatMap(TestApi, (api) =>
    Effect.promise(async () => test(await snapshotTenant(api), api)).pipe(
      Effect.ensuring(Effect.sync(() => (api.world.intercept = () => Effect.void)))
    )
  )

const idsOf = (list: ReadonlyArray<{ readonly id: string }>) => list.map(({ id }) => id)

const settings = {
  ATOLL_SANDBOXES_PER_ACCOUNT: "4",
  ATOLL_VOLUME_BYTES: "1048576",
  // Shorter than a test holds a capture up: the wait is no part of the boot.
  ATOLL_BOOT_TIMEOUT_MS: "500"
}

describe.skipIf(isOverAFleet)("a fork", () => {
  layer(TestApi.layer(settings), { excludeTestServices: true })((it) => {
    it.effect("makes Sandboxes of one snapshot; a repeated key gives the same ones", () =>
      withTenant(async ({ send, running, fork, untilIs }, api) => {
        const source = await running({
          name: "source",
          metadata: { team: "blue" },
          env: { TOKEN: "secret" },
          lifetime: { deleteAfterStoppedSeconds: 60 },
          networkEnabled: false
        })
        const body = { count: 3, names: ["one", null] }
        const { status, json } = await fork(source, body, "key")
        assert.deepStrictEqual([status, json.refused], [202, []])
        const { snapshot, sandboxes } = json
        const day = Date.parse(snapshot.expiresAt) - Date.parse(snapshot.createdAt)
        assert.isAtMost(Math.abs(day - 86_400_000), 10_000)
        assert.deepStrictEqual(
          sandboxes.map(({ name }: { name: string | null }) => name),
          ["one", null, "source"]
        )
        for (const child of sandboxes) {
          assert.deepInclude(child, {
            snapshotId: snapshot.id,
            metadata: { team: "blue" },
            envNames: ["TOKEN"],
            networkEnabled: false
          })
          assert.strictEqual(child.lifetime.deleteAfterStoppedSeconds, 60)
          await untilIs("sandbox", child.id, "running")
          assert.strictEqual(api.world.origins.get(child.id), snapshot.id)
        }
        const again = await fork(source, body, "key")
        assert.deepStrictEqual(
          [again.status, again.json.snapshot.id, idsOf(again.json.sandboxes), again.json.refused],
          [202, snapshot.id, idsOf(sandboxes), []]
        )
        assert.strictEqual((await fork(source, { count: 2 }, "key")).json.code, "IDEMPOTENCY_CONFLICT")
        assert.lengthOf((await send("GET", "/sandboxes")).json.sandboxes, 4)
        await send("DELETE", `/sandboxes/${source}`)
        assert.deepStrictEqual(idsOf((await fork(source, body, "key")).json.sandboxes), idsOf(sandboxes))
      })
    )

    it.effect("asked for twice at the same moment is one fork", () =>
      withTenant(async ({ send, running, fork }) => {
        const source = await running()
        const answers = await Promise.all([1, 2, 3].map(() => fork(source, { count: 2 }, "key")))
        const ids = answers.map(({ json }) => JSON.stringify([json.snapshot.id, idsOf(json.sandboxes)]))
        assert.strictEqual(new Set(ids).size, 1)
        assert.lengthOf((await send("GET", "/sandboxes")).json.sandboxes, 3)
      })
    )

    it.effect("makes as many Sandboxes as the limit allows, and says which were refused, each time", () =>
      withTenant(async ({ send, running, fork }) => {
        const source = await running()
        const first = await fork(source, { count: 5 }, "key")
        assert.lengthOf(first.json.sandboxes, 3)
        const refused = first.json.refused.map(({ index, code }: { index: number; code: string }) => [index, code])
        assert.deepStrictEqual(refused, [
          [3, "SANDBOX_LIMIT_REACHED"],
          [4, "SANDBOX_LIMIT_REACHED"]
        ])
        // There is room now, but the answer is the same.
        await send("DELETE", `/sandboxes/${source}`)
        const again = await fork(source, { count: 5 }, "key")
        assert.deepStrictEqual(again.json.refused, first.json.refused)
        assert.deepStrictEqual(idsOf(again.json.sandboxes), idsOf(first.json.sandboxes))
      })
    )

    it.effect("that was cut off before it was answered refuses the same Sandboxes when it is repeated", () =>
      Effect.flatMap(SqlClient.SqlClient, (sql) =>
        withTenant(async ({ send, running, fork }) => {
          const source = await running()
          const first = await fork(source, { count: 4 }, "key")
          assert.deepStrictEqual([first.json.sandboxes.length, first.json.refused.length], [3, 1])
          const cutOff = sql`
            update idempotency_keys set response = null
            where kind = 'sandbox.fork' and target_id = ${first.json.snapshot.id} returning key`
          assert.lengthOf(await Effect.runPromise(Effect.orDie(cutOff)), 1)
          // As another call with the key may find it, which runs at the same time.
          await send("DELETE", `/sandboxes/${source}`)
          const again = await fork(source, { count: 4 }, "key")
          assert.deepStrictEqual(again.json.refused, first.json.refused)
          assert.deepStrictEqual(idsOf(again.json.sandboxes), idsOf(first.json.sandboxes))
        })
      )
    )

    it.effect("one of its Sandboxes that is stopped and started while the snapshot is made waits for it again", () =>
      withTenant(async ({ send, running, fork, untilIs }, api) => {
        const source = await running()
        const gate = Deferred.makeUnsafe<void>()
        const booted: Array<string> = []
        api.world.intercept = (call, id) => {
          if (call === "provision") booted.push(id)
          return call === "capture" ? Deferred.await(gate) : Effect.void
        }
        const { snapshot, sandboxes } = (await fork(source, { count: 1 })).json
        const [{ id }] = sandboxes
        assert.strictEqual((await send("POST", `/sandboxes/${id}/stop`)).json.sandbox.status, "stopped")
        const started = send("POST", `/sandboxes/${id}/start`, { body: {}, headers: { "idempotency-key": "start" } })
        await untilIs("sandbox", id, "pending")
        // Another boot comes and goes meanwhile.
        const other = await running()
        assert.deepStrictEqual(booted, [other])
        await Effect.runPromise(Deferred.succeed(gate, undefined))
        assert.strictEqual((await started).json.sandbox.status, "running")
        const { generation } = await untilIs("sandbox", id, "running")
        assert.strictEqual(generation, 2)
        assert.strictEqual(api.world.origins.get(id), snapshot.id)
      })
    )

    it.effect("its Sandboxes wait for the snapshot, and fail with its reason when it fails", () =>
      withTenant(async ({ send, running, fork, untilIs }, api) => {
        const source = await running()
        const gate = Deferred.makeUnsafe<void>()
        api.world.intercept = (call) =>
          call === "capture"
            ? Effect.andThen(
                Deferred.await(gate),
                new RuntimeRefused({ code: "HOST_FULL", message: publicText`The host has no room.` })
              )
            : Effect.void
        const { sandboxes } = (await fork(source, { count: 2 })).json
        const waits = async () =>
          (await send("GET", `/sandboxes/${sandboxes[0].id}/transitions`)).json.transitions.filter(
            ({ event }: { event: { type: string } }) => event.type === "BOOT_WAITS"
          ).length
        // Longer than a boot may take.
        while ((await waits()) < 3);
        assert.strictEqual((await send("GET", `/sandboxes/${sandboxes[1].id}`)).json.sandbox.status, "pending")
        await Effect.runPromise(Deferred.succeed(gate, undefined))
        for (const { id } of sandboxes) {
          assert.deepStrictEqual((await untilIs("sandbox", id, "failed")).statusReason, {
            code: "SNAPSHOT_MISSING",
            message: "Its snapshot has failed: The host has no room."
          })
        }
      })
    )

    it.effect("its Sandboxes run once a slow snapshot is ready, and fail when it is deleted before that", () =>
      withTenant(async ({ send, running, fork, untilIs }, api) => {
        const source = await running()
        const gate = Deferred.makeUnsafe<void>()
        api.world.intercept = (call) => (call === "capture" ? Deferred.await(gate) : Effect.void)
        const doomed = (await fork(source, {})).json
        await send("DELETE", `/snapshots/${doomed.snapshot.id}`)
        const failed = await untilIs("sandbox", doomed.sandboxes[0].id, "failed")
        assert.strictEqual(failed.statusReason.message, "Its snapshot was deleted before it could boot.")
        const late = (await fork(source, {})).json.sandboxes[0].id
        assert.strictEqual((await send("GET", `/sandboxes/${late}`)).json.sandbox.status, "pending")
        await Effect.runPromise(Deferred.succeed(gate, undefined))
        await untilIs("sandbox", late, "running")
      })
    )

    it.effect("refuses counts out of bounds, more names than Sandboxes, memory, and a request without a key", () =>
      withTenant(async ({ send, running, fork }) => {
        const source = await running()
        for (const [body, path] of [
          [{ count: 0 }, "count"],
          [{ count: 101 }, "count"],
          [{ count: 1.5 }, "count"],
          [{ count: 1, names: ["a", "b"] }, "names"],
          [{ expiresAt: "2020-01-01T00:00:00Z" }, "expiresAt"]
        ] as const) {
          const { status, json } = await fork(source, body)
          assert.deepStrictEqual([status, json.details?.issues[0].path], [400, [path]], JSON.stringify(body))
        }
        assert.strictEqual((await fork(source, { memory: true })).status, 422)
        assert.strictEqual((await send("POST", `/sandboxes/${source}/fork`)).status, 400)
      })
    )

    it.effect("and its children are each other's lineage, nearest first, in pages", () =>
      withTenant(async ({ send, running, fork, ready, untilIs }) => {
        const source = await running()
        const { snapshot, sandboxes } = (await fork(source, { count: 2 })).json
        const [child] = sandboxes
        await untilIs("sandbox", child.id, "running")
        const second = await ready(child.id)
        const grandchild = await running({ snapshotId: second })
        const lineage = async (id: string, query = "") => (await send("GET", `/sandboxes/${id}/lineage${query}`)).json
        assert.deepStrictEqual((await lineage(grandchild)).parents, [
          { snapshotId: second, sandboxId: child.id },
          { snapshotId: snapshot.id, sandboxId: source }
        ])
        assert.deepStrictEqual((await lineage(source)).parents, [])
        const all = (await lineage(source)).children
        assert.sameMembers(
          all.map(({ sandboxId }: { sandboxId: string }) => sandboxId),
          idsOf(sandboxes)
        )
        assert.deepInclude(all[0], { snapshotId: snapshot.id })
        const first = await lineage(source, "?limit=1")
        const rest = await lineage(source, `?limit=1&cursor=${encodeURIComponent(first.nextCursor)}`)
        assert.deepStrictEqual([...first.children, ...rest.children], all)
        assert.isNull(rest.nextCursor)
      })
    )
  })
})
