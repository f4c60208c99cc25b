/** What becomes of snapshots when their host is taken out of the fleet. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { Hosts } from "../../../src/fleet/Hosts.ts"
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
})
