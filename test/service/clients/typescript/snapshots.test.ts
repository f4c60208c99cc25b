/** Snapshots, forks and lineage of the TypeScript library, against the real service on simulated machines. */
import { mkdtemp, readdir, rm, stat, truncate } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { Atoll, AtollError, WaitTimeout } from "../../../../clients/typescript/src/index.ts"
import { scopes } from "../../../../schemas/Access.ts"
import { publicText } from "../../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../../src/runtime/Runtime.ts"
import { isOverAFleet } from "../../../support/fleet/isOverAFleet.ts"
import { TestApi } from "../../../support/http/TestApi.ts"
import { untilSeen } from "../../../support/until.ts"

const settings = { ATOLL_SANDBOXES_PER_ACCOUNT: "4", ATOLL_VOLUME_BYTES: "1048576" }

/** A client of a new account. */
const withAtoll = (use: (atoll: Atoll, api: TestApi["Service"]) => Promise<void>) =>
  Effect.flatMap(TestApi, (api) =>
    Effect.promise(async () => {
      const { secret: apiKey } = await api.newKey(scopes, crypto.randomUUID())
      await use(new Atoll({ apiKey, url: `http://127.0.0.1:${api.port}` }), api)
    }).pipe(Effect.ensuring(Effect.sync(() => (api.world.intercept = () => Effect.void))))
  )

const gathered = async <A>(things: AsyncIterable<A>): Promise<Array<A>> => {
  const all: Array<A> = []
  for await (const thing of things) all.push(thing)
  return all
}

const failed = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => new Error("It did not fail."),
    (thrown: unknown) => thrown
  )

const hour = () => new Date(Date.now() + 3_600_000).toISOString()

describe.skipIf(isOverAFleet)("the TypeScript library", () => {
  layer(TestApi.layer(settings), { excludeTestServices: true })((it) => {
    it.effect(
      "takes a snapshot, finds, changes and deletes it, and makes a Sandbox of it after its source is gone",
      () =>
        withAtoll(async (atoll, api) => {
          const source = await atoll.sandboxes.create({ env: { TOKEN: "secret" } })
          const snapshot = await source.snapshot({ name: "before", idempotencyKey: "one" })
          assert.strictEqual(snapshot.status, "ready")
          assert.strictEqual(snapshot.sandboxId, source.id)
          assert.isAbove(snapshot.record.storedBytes!, 0)
          assert.strictEqual((await source.snapshot({ name: "before", idempotencyKey: "one" })).id, snapshot.id)
          const expiresAt = hour()
          assert.deepInclude((await snapshot.update({ name: null, expiresAt })).record, { name: null, expiresAt })
          assert.strictEqual((await atoll.snapshots.get(snapshot.id)).record.expiresAt, expiresAt)
          assert.deepStrictEqual(
            (await gathered(snapshot.transitions())).map(({ to }) => to),
            ["creating", "ready", "ready"]
          )

          const folder = await mkdtemp(join(tmpdir(), "atoll-client-"))
          const file = join(folder, "snapshot")
          const { bytes } = await snapshot.export(file)
          assert.strictEqual((await stat(file)).size, bytes)
          assert.deepStrictEqual(await readdir(folder), ["snapshot"])
          const imported = await atoll.snapshots.import(file, { name: "copy", idempotencyKey: "two" })
          assert.deepInclude(imported.record, { status: "ready", sandboxId: null, imported: true, name: "copy" })
          const again = await atoll.snapshots.import(file, { name: "copy", idempotencyKey: "two" })
          assert.strictEqual(again.id, imported.id)
          await imported.delete()
          await truncate(file, bytes - 30)
          const cut = await failed(atoll.snapshots.import(file))
          assert.isTrue(cut instanceof AtollError && cut.is("INVALID_REQUEST"), String(cut))
          await rm(folder, { recursive: true })

          await source.delete()
          const made = await atoll.sandboxes.create({ snapshot })
          assert.deepInclude(made.record, { status: "running", snapshotId: snapshot.id, envNames: ["TOKEN"] })
          assert.strictEqual(api.world.origins.get(made.id), snapshot.id)
          const byId = await atoll.sandboxes.create({ snapshotId: snapshot.id })
          assert.deepStrictEqual(await made.lineage(), {
            parents: [{ snapshotId: snapshot.id, sandboxId: source.id }],
            children: []
          })
          assert.deepStrictEqual(
            (await source.lineage()).children.map(({ sandboxId }) => sandboxId),
            [byId.id, made.id]
          )

          const other = await made.snapshot()
          const idsOf = async (filter: Parameters<typeof atoll.snapshots.list>[0]) =>
            (await gathered(atoll.snapshots.list(filter))).map(({ id }) => id)
          assert.deepStrictEqual(await idsOf({}), [other.id, imported.id, snapshot.id])
          assert.deepStrictEqual(await idsOf({ sandboxId: source.id }), [snapshot.id])
          await snapshot.delete()
          assert.strictEqual((await snapshot.refresh()).status, "deleted")
          assert.deepStrictEqual(await idsOf({ status: ["ready"] }), [other.id])
          const thrown = await failed(atoll.sandboxes.create({ snapshot }))
          assert.isTrue(thrown instanceof AtollError && thrown.is("SNAPSHOT_NOT_READY"), String(thrown))
        })
    )

    it.effect("rolls a Sandbox back, waits until it runs again, and returns what its volume became", () =>
      withAtoll(async (atoll, api) => {
        const source = await atoll.sandboxes.create({ name: "source" })
        const snapshot = await source.snapshot()
        const kept = await source.rollback(snapshot, { idempotencyKey: "key" })
        assert.deepInclude(source.record, { status: "running", generation: 2 })
        assert.deepInclude(kept?.record, { sandboxId: source.id, status: "ready" })
        assert.strictEqual((await source.rollback(snapshot.id, { idempotencyKey: "key" }))?.id, kept?.id)
        assert.strictEqual(source.record.generation, 2)
        await source.stop()
        assert.isNull(await source.rollback(snapshot, { keep: false }))
        assert.deepInclude(source.record, { status: "stopped", generation: 3 })
        api.world.snapshots.delete(snapshot.id)
        const thrown = await failed(source.rollback(snapshot, { keep: false }))
        assert.match(String(thrown), /was not rolled back \(SNAPSHOT_MISSING: /)
      })
    )

    it.effect(
      "forks a Sandbox, waits for its copies, and names those that were refused; the same ones for the same key",
      () =>
        withAtoll(async (atoll) => {
          const source = await atoll.sandboxes.create({ name: "source" })
          const options = { count: 5, names: ["first"], idempotencyKey: "key" }
          const { snapshot, sandboxes, refused } = await source.fork(options)
          assert.deepStrictEqual(
            sandboxes.map(({ status, record: { name, snapshotId } }) => ({ status, name, snapshotId })),
            ["first", "source", "source"].map((name) => ({ status: "running" as const, name, snapshotId: snapshot.id }))
          )
          assert.deepStrictEqual(
            refused.map(({ index, code }) => [index, code]),
            [
              [3, "SANDBOX_LIMIT_REACHED"],
              [4, "SANDBOX_LIMIT_REACHED"]
            ]
          )
          const again = await source.fork(options)
          assert.deepStrictEqual(
            [again.snapshot.id, again.sandboxes.map(({ id }) => id)],
            [snapshot.id, sandboxes.map(({ id }) => id)]
          )
        })
    )

    it.effect(
      "stops waiting for a snapshot in time, and says why one will not be ready; copies of it have failed",
      () =>
        withAtoll(async (atoll, api) => {
          const source = await atoll.sandboxes.create()
          const gate = Effect.runSync(Deferred.make<void>())
          api.world.intercept = (call) => (call === "capture" ? Deferred.await(gate) : Effect.void)
          const late = await source.snapshot({ untilReady: false })
          assert.strictEqual(late.status, "creating")
          const timeout = await failed(late.untilReady({ withinSeconds: 0.2 }))
          assert.match(String(timeout), /WaitTimeout: The snapshot snp_\w+ is creating after 0\.2 s/)
          Effect.runSync(Deferred.succeed(gate, undefined))
          assert.strictEqual((await late.untilReady()).status, "ready")

          const broken = Effect.runSync(Deferred.make<void, RuntimeRefused>())
          api.world.intercept = (call) => (call === "capture" ? Deferred.await(broken) : Effect.void)
          const forking = source.fork({ count: 2 })
          const waiting = () => gathered(atoll.sandboxes.list({ status: ["pending"] }))
          await untilSeen(waiting, ({ length }) => length === 2)
          const full = new RuntimeRefused({ code: "HOST_FULL", message: publicText`The host has no room.` })
          Effect.runSync(Deferred.fail(broken, full))
          assert.deepStrictEqual(
            (await forking).sandboxes.map(({ status }) => status),
            ["failed", "failed"]
          )
          const thrown = await failed(source.snapshot())
          assert.instanceOf(thrown, WaitTimeout)
          assert.match(String(thrown), /is failed \(HOST_FULL: The host has no room\.\), and will not be ready/)
        })
    )
  })
})
