/** What becomes of snapshots when their host is taken out of the fleet. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { removeHost } from "../../../src/fleet/askHost.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { fleetService, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"
import { until } from "../../support/until.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a host that is removed", (it) => {
  it.effect("takes its snapshots with it, which say so", () =>
    Effect.gen(function* () {
      yield* fresh
      const host = yield* WorldHost.make("host_removed")
      yield* Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const beats = yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        const taken = yield* snapshots.create(accountId, id, {
          requestId: "req_test",
          idempotencyKey: null,
          fingerprint: "f",
          request: { name: null, memory: false }
        })
        const untilIts = (status: string) =>
          until(snapshots.get(accountId, taken.id), (snapshot) => snapshot.status === status)
        yield* untilIts("ready")
        yield* Fiber.interrupt(beats)
        host.isCut = true
        yield* (yield* Hosts).ask(host.id, "REMOVE_FORCED")
        yield* untilHost(host.id, "gone")
        assert.strictEqual((yield* untilIts("failed")).statusReason?.code, "SNAPSHOT_LOST")
      }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
    })
  )

  it.effect("is drained of its snapshots first, which live on elsewhere", () =>
    Effect.gen(function* () {
      yield* fresh
      const [leaving, taking] = [yield* WorldHost.make("host_leaving"), yield* WorldHost.make("host_taking")]
      yield* Effect.gen(function* () {
        const snapshots = yield* Snapshots
        const hosts = yield* Hosts
        const sql = yield* SqlClient.SqlClient
        yield* Effect.forkScoped(leaving.live)
        yield* untilHost(leaving.id, "ready")
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        const take = (fingerprint: string) =>
          snapshots.create(accountId, id, {
            ...{ requestId: "req_test", idempotencyKey: null, fingerprint },
            request: { name: null, memory: false }
          })
        const [moved, deleted] = [yield* take("one"), yield* take("two")]
        const untilIts = (snapshotId: string, status: string) =>
          until(snapshots.get(accountId, snapshotId), (snapshot) => snapshot.status === status)
        for (const taken of [moved, deleted]) yield* untilIts(taken.id, "ready")

        yield* hosts.ask(leaving.id, "DRAIN")
        const counted = (onlyHere: number) =>
          until(hosts.find(leaving.id), (host) => host?.state === "draining" && host.snapshotsOnlyHere === onlyHere)
        assert.include(
          (yield* Effect.flip(removeHost((yield* counted(2))!, false))).message,
          "wait until atoll hosts list says"
        )
        yield* Effect.forkScoped(taking.live)
        yield* untilHost(taking.id, "ready")
        const drained = yield* counted(0)
        assert.deepStrictEqual([...taking.world.snapshots.keys()], [moved.id, deleted.id])
        assert.strictEqual(leaving.world.snapshots.size, 2)

        yield* removeHost((yield* until(hosts.find(drained!.id), (host) => host?.sandboxesUp === 0))!, false)
        const placeOf = sql<{ readonly place: string }>`
          select snapshot -> 'context' ->> 'hostId' as place from actors where id = ${moved.id}`
        yield* until(placeOf, ([row]) => row?.place === taking.id)
        const { transitions } = yield* snapshots.transitions(accountId, moved.id, { limit: 10, cursor: null })
        assert.deepStrictEqual(
          transitions.map(({ event }) => (event as { readonly type: string }).type),
          ["CREATED", "CAPTURED", "MOVED"]
        )
        // The host of before is not asked.
        leaving.isCut = true
        yield* snapshots.remove(accountId, deleted.id, { requestId: "req_test" })
        yield* untilIts(deleted.id, "deleted")
        assert.deepStrictEqual([...taking.world.snapshots.keys()], [moved.id])
        const fork = yield* (yield* Sandboxes).create({
          ...{ accountId, requestId: "req_test", idempotencyKey: "fork", fingerprint: "fork" },
          request: {
            ...{ workspaceId: account.workspaceId, name: null, networkEnabled: false, metadata: {}, env: {} },
            ...{ lifetime: null, snapshotId: moved.id }
          }
        })
        yield* untilStatus(accountId, fork.sandbox.id, "running")
        assert.strictEqual(taking.world.origins.get(fork.sandbox.id), moved.id)
      }).pipe(Effect.scoped, Effect.provide(fleetService([leaving, taking])))
    })
  )
})
