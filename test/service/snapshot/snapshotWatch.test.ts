/** The host's images and the snapshots converge, also over a crash of the service. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { publicText } from "../../../schemas/PublicText.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"

const often = { ATOLL_RECONCILE_INTERVAL_MS: "20" }
const requestId = "req_test"

const untilSnapshot = Effect.fnUntraced(function* (accountId: string, id: string, status: string) {
  const snapshots = yield* Snapshots
  return yield* Effect.repeat(snapshots.get(accountId, id), {
    until: (snapshot) => snapshot.status === status,
    schedule: Schedule.spaced(5)
  })
})

const running = Effect.fnUntraced(function* (account: { accountId: string; workspaceId: string }) {
  const { id } = (yield* createIn(account)).sandbox
  yield* untilStatus(account.accountId, id, "running")
  return id
})

const take = (accountId: string, sandboxId: string) =>
  Effect.flatMap(Snapshots, (snapshots) =>
    snapshots.create(accountId, sandboxId, {
      requestId,
      fingerprint: "f",
      idempotencyKey: null,
      request: { name: null, memory: false }
    })
  )

layer(TestDatabase.layer, { excludeTestServices: true })("the reconciler of snapshots", (it) => {
  it.effect("removes images that no snapshot has, and tells a snapshot that its image is lost", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      world.snapshots.set("snp_nobodys", "sbx_nobodys")
      yield* Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const { accountId, workspaceId } = yield* newAccount
        const sandboxId = yield* running({ accountId, workspaceId })
        const [lost, kept, deleted] = [
          (yield* take(accountId, sandboxId)).id,
          (yield* take(accountId, sandboxId)).id,
          (yield* take(accountId, sandboxId)).id
        ]
        for (const id of [lost, kept, deleted]) yield* untilSnapshot(accountId, id, "ready")
        yield* snapshots.remove(accountId, deleted, { requestId })
        // A capture of a dead service comes up after all.
        world.snapshots.set(deleted, sandboxId)
        world.snapshots.delete(lost)
        const failed = yield* untilSnapshot(accountId, lost, "failed")
        assert.strictEqual(failed.statusReason?.code, "SNAPSHOT_LOST")
        yield* Effect.repeat(
          Effect.sync(() => [...world.snapshots.keys()]),
          { schedule: Schedule.spaced(5), until: (ids) => ids.length === 1 }
        )
        assert.deepStrictEqual([...world.snapshots.keys()], [kept])
        assert.strictEqual((yield* snapshots.get(accountId, kept)).status, "ready")
      }).pipe(Effect.provide(testAtoll(world, often)))
    })
  )

  it.effect("removes the late image of a capture that seemed to fail, and leaves the record as it is", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const { accountId, workspaceId } = yield* newAccount
        const sandboxId = yield* running({ accountId, workspaceId })
        let removals = 0
        world.intercept = (call) =>
          call === "capture"
            ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`The host has no room.` }))
            : Effect.sync(() => {
                if (call === "removeSnapshot") removals++
              })
        const { id } = yield* take(accountId, sandboxId)
        yield* untilSnapshot(accountId, id, "failed")
        yield* Effect.repeat(
          Effect.sync(() => removals),
          { schedule: Schedule.spaced(5), until: (count) => count === 1 }
        )
        world.snapshots.set(id, sandboxId)
        yield* Effect.repeat(
          Effect.sync(() => world.snapshots.has(id)),
          { schedule: Schedule.spaced(5), until: (has) => !has }
        )
        assert.strictEqual((yield* snapshots.get(accountId, id)).status, "failed")
      }).pipe(Effect.provide(testAtoll(world, often)))
    })
  )

  it.effect(
    "a service that was killed between capture and commit captures once; one killed while it removes goes on",
    () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const account = yield* newAccount
        const { accountId } = account
        let captures = 0
        const id = yield* Effect.gen(function* () {
          const sandboxId = yield* running(account)
          world.intercept = (call, snapshotId) => {
            if (call !== "capture") return Effect.void
            captures++
            // The host has the image, and the service never hears of it.
            world.snapshots.set(snapshotId, sandboxId)
            return Effect.never
          }
          const taken = yield* take(accountId, sandboxId)
          yield* Effect.repeat(
            Effect.sync(() => captures),
            { schedule: Schedule.spaced(5), until: (count) => count === 1 }
          )
          return taken.id
        }).pipe(Effect.provide(testAtoll(world)))
        world.intercept = () => Effect.void
        yield* Effect.gen(function* () {
          const ready = yield* untilSnapshot(accountId, id, "ready")
          assert.strictEqual(ready.storedBytes, 4 * 1024 ** 2)
          world.intercept = (call) => (call === "removeSnapshot" ? Effect.never : Effect.void)
          const snapshots = yield* Snapshots
          yield* Effect.forkChild(snapshots.remove(accountId, id, { requestId }))
          yield* untilSnapshot(accountId, id, "deleting")
        }).pipe(Effect.provide(testAtoll(world)))
        world.intercept = () => Effect.void
        assert.isTrue(world.snapshots.has(id))
        yield* Effect.gen(function* () {
          yield* untilSnapshot(accountId, id, "deleted")
          assert.isFalse(world.snapshots.has(id))
        }).pipe(Effect.provide(testAtoll(world)))
      })
  )
})
