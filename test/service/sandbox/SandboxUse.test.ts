/** Several processes on one database know of each other's uses of a Sandbox. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { layerWorld } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { SandboxUse } from "../../../src/sandbox/SandboxUse.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

/** The uses that one process knows of, among several processes unless `environment` says otherwise. */
const knowledge = (environment: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const settings = testSettings({ ATOLL_SLEEP_AFTER_SECONDS: "2", ATOLL_CLUSTER_PORT: "1", ...environment })
    const runtime = layerWorld(yield* SimulatedWorld.make)
    const built = yield* Layer.build(Layer.fresh(SandboxUse.layer).pipe(Layer.provide([settings, runtime])))
    return Context.get(built, SandboxUse)
  })

layer(TestDatabase.layer, { excludeTestServices: true })("uses of a Sandbox", (it) => {
  it.effect("are known to other processes before the work begins, and as long as it goes on", () =>
    Effect.gen(function* () {
      const here = yield* knowledge()
      const there = yield* knowledge()
      assert.strictEqual(yield* there.latest("sbx_shared"), 0)
      yield* here.during("sbx_shared")(
        Effect.gen(function* () {
          const first = yield* there.latest("sbx_shared")
          assert.isAbove(first, 0)
          yield* Effect.repeat(there.latest("sbx_shared"), { schedule: Schedule.spaced(5), until: (at) => at > first })
        })
      )
      yield* here.forget("sbx_shared")
      assert.strictEqual(yield* there.latest("sbx_shared"), 0)
    }).pipe(Effect.scoped)
  )

  it.effect("that go on count as now, and ended ones as their end", () =>
    Effect.gen(function* () {
      const here = yield* knowledge({ ATOLL_CLUSTER_PORT: "0" })
      const before = Date.now()
      const end = here.begin("sbx_now")
      assert.isAtLeast(yield* here.latest("sbx_now"), before)
      end()
      end()
      const ended = yield* here.latest("sbx_now")
      yield* Effect.repeat(
        Effect.sync(() => Date.now()),
        { until: (now) => now > ended + 5 }
      )
      assert.strictEqual(yield* here.latest("sbx_now"), ended)
    }).pipe(Effect.scoped)
  )

  it.effect("cost a single process no write to the database, and several processes none where no Sandbox sleeps", () =>
    Effect.gen(function* () {
      const alone = yield* knowledge({ ATOLL_CLUSTER_PORT: "0" })
      const awake = yield* knowledge({ ATOLL_SLEEP_AFTER_SECONDS: "0" })
      const sql = yield* SqlClient.SqlClient
      for (const uses of [alone, awake]) {
        yield* uses.during("sbx_cheap")(
          Effect.gen(function* () {
            assert.lengthOf(yield* sql`select 1 from sandbox_uses where sandbox_id = 'sbx_cheap'`, 0)
          })
        )
      }
      assert.isNull(awake.sleepAfterMs)
      assert.deepStrictEqual([alone.lateByMs, awake.lateByMs > 0], [0, true])
    }).pipe(Effect.scoped)
  )

  it.effect("that have ended are known to others within the promised time", () =>
    Effect.gen(function* () {
      const quick = { ATOLL_SLEEP_AFTER_SECONDS: "1" }
      const here = yield* knowledge(quick)
      const there = yield* knowledge(quick)
      yield* here.during("sbx_over")(Effect.void)
      const ended = yield* here.latest("sbx_over")
      yield* Effect.repeat(there.latest("sbx_over"), { schedule: Schedule.spaced(5), until: (at) => at >= ended })
      assert.strictEqual(yield* there.latest("sbx_over"), ended)
    }).pipe(Effect.scoped)
  )
})
