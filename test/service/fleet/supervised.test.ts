/**
 * A host whose service is killed is supervised by the next owner of its actor: that owner reports Sandboxes that died
 * meanwhile, and receives later deaths.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { SqlClient } from "effect/sql"
import { inject } from "vitest"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Dice } from "../../support/fleet/simulated/Dice.ts"
import { HostAgent } from "../../support/fleet/simulated/HostAgent.ts"
import { SimulatedHost } from "../../support/fleet/simulated/SimulatedHost.ts"
import { lost, type Services, SimulatedService } from "../../support/fleet/simulated/SimulatedService.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn } from "../../support/TestSandboxes.ts"
import { until } from "../../support/until.ts"

const volumeBytes = 4096
const capacity = { vcpus: 64, memoryBytes: 2 ** 40, diskBytes: 2 ** 40, parallelStarts: 4 }

/** Only the takeover itself checks the host again in time. */
const environment = {
  ATOLL_CLUSTER_LEASE_MS: "1000",
  ATOLL_HOST_LEASE_MS: "600000",
  ATOLL_HOST_LOST_AFTER_MS: "600000",
  ATOLL_RECONCILE_INTERVAL_MS: "600000",
  ATOLL_VOLUME_BYTES: String(volumeBytes)
}

/** Two services of a cluster, and a host that has joined one of them. */
const fleet = Effect.gen(function* () {
  const folder = yield* Effect.acquireRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "atoll-supervised-"))),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )
  const { name: database } = yield* TestDatabase
  const id = `host_${"0".repeat(24)}`
  const nothing = () => {}
  const host = new SimulatedHost(id, yield* SimulatedWorld.make, capacity, volumeBytes, () => 0, nothing)
  const socketFolder = inject("testPostgresSocketFolder")
  const options = { folder, socketFolder, database, hosts: [host], environment }
  const services = ["one", "other"].map((name) => new SimulatedService(name, options))
  const agent = new HostAgent(host, services, new Dice(1))
  yield* Effect.acquireRelease(
    Effect.promise(async () => {
      await Promise.all(services.map((service) => service.start()))
      return agent.run()
    }).pipe(Effect.forkChild),
    () =>
      Effect.promise(async () => {
        agent.stop()
        for (const service of services) service.kill()
        await Promise.all(services.map((service) => service.ended()))
      })
  )
  return { host, services }
})

const by = <A, E>(service: SimulatedService, request: Effect.Effect<A, E, Services>) =>
  Effect.map(
    Effect.promise(() => service.call(request)),
    (exit) => (exit !== lost && Exit.isSuccess(exit) ? exit.value : null)
  )

layer(TestDatabase.layer, { excludeTestServices: true })("a service that supervises a host", (it) => {
  it.effect("is replaced by the next owner of the host's actor when it is killed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { host, services } = yield* fleet
      yield* until(
        sql<{ readonly status: string }>`select status from actors where id = ${host.id}`,
        ([row]) => row?.status === "ready"
      )
      const account = yield* newAccount
      const create = (key: string) =>
        Effect.map(
          until(by(services[0]!, createIn(account, key)), (made) => made !== null),
          (made) => made!.sandbox.id
        )
      const [early, late, kept] = [yield* create("early"), yield* create("late"), yield* create("kept")]
      const get = (service: SimulatedService, id: string) =>
        by(
          service,
          Effect.flatMap(Sandboxes, (sandboxes) => sandboxes.get(account.accountId, id))
        )
      const untilStatus = (service: SimulatedService, id: string, status: string) =>
        until(get(service, id), (sandbox) => sandbox?.status === status)
      for (const id of [early, late, kept]) yield* untilStatus(services[0]!, id, "running")

      const owns = (service: SimulatedService) =>
        by(
          service,
          Effect.map(ActorHost, (actors) => actors.owns(host.id))
        )
      const owning = yield* until(Effect.forEach(services, owns), (all) => all.filter((is) => is === true).length === 1)
      const [attending, next] = owning[0] === true ? [services[0]!, services[1]!] : [services[1]!, services[0]!]
      attending.kill()
      // No service hears of this death.
      host.world.crash(early)
      const missed = yield* untilStatus(next, early, "stopped")
      assert.strictEqual(missed?.statusReason?.message, "The Sandbox ended without being asked to.")
      host.world.crash(late)
      const heard = yield* untilStatus(next, late, "stopped")
      assert.strictEqual(heard?.statusReason?.message, "The simulated machine crashed.")
      assert.strictEqual((yield* get(next, kept))?.status, "running")
      assert.isTrue(host.world.machines.has(kept))
    }).pipe(Effect.scoped)
  )
})
