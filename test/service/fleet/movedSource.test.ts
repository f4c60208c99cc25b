/** Forks of a Sandbox that its first host did not boot. */
import { assert, layer } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { RuntimeRefused } from "../../../src/runtime/Runtime.ts"
import { Snapshots } from "../../../src/snapshot/Snapshots.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { fleetService, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"
import { until } from "../../support/until.ts"

layer(TestDatabase.layer, { excludeTestServices: true })("a Sandbox that went to another host", (it) => {
  it.effect("has its forks there, and not on the host of its creation", () =>
    Effect.gen(function* () {
      yield* fresh
      const hosts = yield* Effect.forEach(["host_one", "host_two"], WorldHost.make)
      const refusedBy: Array<string> = []
      let isArmed = false
      const forked = yield* Deferred.make<void>()
      for (const { id: hostId, world } of hosts) {
        world.intercept = (call) => {
          // A host copies for longer than a fork takes to make its Sandboxes.
          if (call === "capture") return Deferred.await(forked)
          if (call !== "provision" || !isArmed || refusedBy.length > 0) return Effect.void
          refusedBy.push(hostId)
          return Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
        }
      }
      yield* Effect.gen(function* () {
        for (const { live } of hosts) yield* Effect.forkScoped(live)
        for (const { id } of hosts) yield* untilHost(id, "ready")
        const sql = yield* SqlClient.SqlClient
        const proven = sql`select id from actors where kind = 'host' and snapshot -> 'context' -> 'isProven' = 'true'`
        // Their own trial boots are over.
        yield* until(proven, ({ length }) => length === hosts.length)
        isArmed = true
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(accountId, id, "running")
        const { sandboxes } = yield* (yield* Snapshots).fork(accountId, id, {
          requestId: "req_test",
          idempotencyKey: "fork",
          fingerprint: "f",
          request: { count: 2, memory: false }
        })
        yield* Deferred.succeed(forked, undefined)
        for (const child of sandboxes) yield* untilStatus(accountId, child.id, "running")
        const { id: hostId, world } = hosts.find((host) => host.world.volumes.has(id))!
        assert.lengthOf(refusedBy, 1)
        assert.notStrictEqual(hostId, refusedBy[0])
        for (const child of sandboxes) assert.isTrue(world.origins.has(child.id), child.id)
      }).pipe(Effect.scoped, Effect.provide(fleetService(hosts)))
    })
  )
})
