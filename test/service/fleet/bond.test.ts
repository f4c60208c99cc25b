/** A database moves from one host to a fleet and back, and never serves both. */
import { join } from "node:path"
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Fiber, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { takeDown } from "../../../src/app/Down.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { backup } from "../../../src/ops/backup/Backup.ts"
import { restore } from "../../../src/ops/backup/Restore.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { countedStates, removedStates, runtimelessStates } from "../../../src/sandbox/sandboxStates.ts"
import { Database } from "../../../src/store/Database.ts"
import { DatabaseClaim } from "../../../src/store/DatabaseClaim.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { Installation } from "../../../src/store/Installation.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, untilStatus } from "../../support/TestSandboxes.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { testFolder } from "../../support/testFolder.ts"
import { WorldFleet, wrongPromises } from "./WorldFleet.ts"

const begun = Installation.ofFleet({ counted: countedStates, runtimeless: runtimelessStates })

/** Uses separate connections, as a process does: its claim ends with them. */
const ownProcess = (environment: Readonly<Record<string, string>>) =>
  Effect.map(TestDatabase, ({ url }) => {
    const settings = testSettings(environment)
    return DatabaseClaim.layer.pipe(
      Layer.provideMerge(Layer.fresh(Database.layerOn.pipe(Layer.provide(DatabaseServer.at(Redacted.make(url)))))),
      Layer.provideMerge(settings)
    )
  }).pipe(Layer.unwrap)

/**
 * Starts as far as a process of that role does before it reads any Sandbox; returns the sentence that it ends with, or
 * null.
 */
const startOf = (environment: Readonly<Record<string, string>>) =>
  Effect.scoped(
    Layer.build(
      (environment["ATOLL_ROLE"] === "service" ? begun : Installation.layer(removedStates)).pipe(
        Layer.provide(ownProcess(environment)),
        Layer.fresh
      )
    )
  ).pipe(Effect.match({ onSuccess: () => null, onFailure: (error) => String(error.message) }))

layer(TestDatabase.layer, { excludeTestServices: true })("a database of one host or of a fleet", (it) => {
  it.effect("keeps its Sandboxes when a fleet begins: they are reserved on the folder in which they live", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const dataDir = join(yield* testFolder, "data")
      const all = { ATOLL_DATA_DIR: dataDir }
      const service = { ATOLL_ROLE: "service", ATOLL_DATA_DIR: join(dataDir, "../other") }
      assert.isNull(yield* startOf(all))
      const host = (yield* sql<{ readonly host_id: string }>`select host_id from installation`)[0]!.host_id
      const account = yield* newAccount
      const { accountId } = account
      const world = yield* SimulatedWorld.make
      const [up, down] = yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const made = yield* Effect.forEach(["up", "down", "gone"], (key) =>
          Effect.flatMap(createIn(account, key), ({ sandbox: { id } }) =>
            Effect.as(untilStatus(accountId, id, "running"), id)
          )
        )
        yield* sandboxes.stop(accountId, made[1]!, request)
        yield* sandboxes.remove(accountId, made[2]!, request)
        return made as [string, string]
      }).pipe(Effect.provide(testAtoll(world)))

      assert.isNull(yield* startOf(service))
      assert.isNull(yield* startOf(service))
      const promised = yield* sql`select sandbox_id, host_id, is_up from host_promises order by is_up desc`
      assert.deepStrictEqual(promised, [
        { sandbox_id: up, host_id: host, is_up: true },
        { sandbox_id: down, host_id: host, is_up: false }
      ])

      // Its host has not joined: nothing of it is lost, and nothing can be started.
      const fleet = new WorldFleet()
      yield* Effect.gen(function* () {
        const sandboxes = yield* Sandboxes
        const refused = yield* Effect.flip(sandboxes.start(accountId, down, { ...request, idempotencyKey: null }))
        assert.include(refused.message, "does not answer now")
        assert.deepInclude(yield* sandboxes.get(accountId, up), { status: "running", generation: 1 })
        fleet.worlds.set(host, world)
        yield* sql`update hosts set vcpus = 100, memory_bytes = 1e15::int8, disk_bytes = 1e15::int8 where id = ${host}`
        yield* fleet.becomes(host, "ready")
        assert.strictEqual(
          (yield* sandboxes.start(accountId, down, { ...request, idempotencyKey: null })).status,
          "running"
        )
        yield* sandboxes.stop(accountId, up, request)
        assert.deepStrictEqual([...world.machines.keys()], [down])
        yield* Effect.repeat(
          Effect.map(wrongPromises, (wrong) => wrong.filter((it) => !("status" in it))),
          { until: (wrong) => wrong.length === 0, schedule: Schedule.spaced(20) }
        )
      }).pipe(Effect.provide(fleet.service()))

      // All of them are in that folder: it may go back.
      assert.isNull(yield* startOf(all))
      assert.deepStrictEqual(
        yield* sql`select is_fleet, (select count(*) from host_promises)::int4 as promises from installation`,
        [{ is_fleet: false, promises: 0 }]
      )
      assert.isNull(yield* startOf(service))
      yield* fleet.add({ id: "host_b" })
      yield* sql`update host_promises set host_id = 'host_b' where sandbox_id = ${up}`
      const sentence = yield* startOf(all)
      assert.include(sentence, "1 Sandboxes of this database live on hosts of a fleet (host_b)")
      assert.include(sentence, "ATOLL_ROLE=service")

      const archive = join(dataDir, "../archive")
      const ofFleet = yield* Effect.flip(backup(archive, () => {}).pipe(Effect.provide(testSettings(service))))
      assert.include(ofFleet.message, "pg_dump")
    })
  )

  it.effect("is not shared by services and an Atoll that does all, in either order", () =>
    Effect.gen(function* () {
      const all = ownProcess({ ATOLL_CLUSTER_PORT: "1" })
      const service = ownProcess({ ATOLL_CLUSTER_PORT: "1", ATOLL_ROLE: "service" })
      /** The second process ends while two of the first go on. */
      const second = (first: typeof all, other: typeof all) =>
        Effect.scoped(
          Effect.gen(function* () {
            yield* Layer.build(Layer.fresh(first))
            yield* Layer.build(Layer.fresh(first))
            // It waits for a predecessor, by the clock.
            const clock = new ShiftedClock()
            const starting = yield* Effect.forkScoped(
              Effect.flip(Effect.scoped(Layer.build(Layer.fresh(other)))).pipe(
                Effect.provideService(Clock.Clock, clock)
              )
            )
            yield* Effect.sleep(1000)
            clock.shiftMs = 60_000
            return (yield* Fiber.join(starting)).message
          })
        )
      assert.include(yield* second(all, service), "An Atoll that carries its Sandboxes itself (ATOLL_ROLE=all)")
      assert.include(yield* second(service, all), "Start this process with ATOLL_ROLE=service, too")
    })
  )

  it.effect("refuses in a fleet what works on one host only, with a sentence", () =>
    Effect.gen(function* () {
      const service = testSettings({ ATOLL_ROLE: "service", ATOLL_DATA_DIR: join(yield* testFolder, "data") })
      const purged = yield* Effect.flip(takeDown(true).pipe(Effect.provide(service)))
      assert.include(purged.message, "--purge would leave them there")
      assert.deepStrictEqual(yield* takeDown(false).pipe(Effect.provide(service)), {
        processes: 0,
        sandboxes: 0,
        left: []
      })
      const restored = yield* Effect.flip(restore("/none", 0, () => {}).pipe(Effect.provide(service)))
      assert.include((restored as Error).message, "Restore it with ATOLL_ROLE=all")
    })
  )
})
