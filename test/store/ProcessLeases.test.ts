/** Which process of a cluster may have which shard. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { ProcessLeases } from "../../src/store/ProcessLeases.ts"
import { TestDatabase } from "../support/TestDatabase.ts"
import { testSettings } from "../support/TestSettings.ts"

const shard = "default:1"

const joined = Effect.fnUntraced(function* (address: string, leaseMs: number) {
  const built = yield* Layer.build(
    Layer.fresh(ProcessLeases.layer).pipe(Layer.provide(testSettings({ ATOLL_CLUSTER_LEASE_MS: String(leaseMs) })))
  )
  const leases = Context.get(built, ProcessLeases)
  yield* leases.join({ address, runner: "" })
  return leases
})

const until = <A, E, R>(look: Effect.Effect<A, E, R>, holds: (found: A) => boolean) =>
  look.pipe(Effect.repeat({ until: holds, schedule: Schedule.spaced(20) }), Effect.timeout("30 seconds"))

/** Of the shard: the address of the process that has it. */
const owner = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly address: string }>`
    select address from cluster_shards s join cluster_processes p on p.id = s.process_id where shard_id = ${shard}`
  return row?.address ?? null
})

layer(TestDatabase.layer, { excludeTestServices: true })("leases of shards", (it) => {
  it.effect("that a process was given when it no longer waited for them go to another one", () =>
    Effect.gen(function* () {
      const one = yield* joined("one", 2000)
      const other = yield* joined("other", 60_000)
      const another = "default:2"
      assert.deepStrictEqual(yield* other.take([another]), [another])
      // It waits for the other one, too; a cluster gives up what takes too long, and may want neither afterwards.
      const taking = yield* Effect.forkChild(one.take([shard, another]))
      yield* until(owner, (address) => address === "one")
      yield* Fiber.interrupt(taking)
      // It lives.
      yield* Effect.forkScoped(Effect.repeat(one.renew([]), Schedule.spaced(50)))
      assert.deepStrictEqual(yield* until(other.take([shard]), ({ length }) => length > 0), [shard])
      assert.isFalse(one.holds(shard))
      assert.isTrue(other.holds(shard))
    }).pipe(Effect.scoped)
  )

  it.effect("stay with the process that took them before it renews them, and as long as it does", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from cluster_shards`
      const patient = yield* joined("patient", 60_000)
      assert.deepStrictEqual(yield* patient.take([shard]), [shard])
      assert.deepStrictEqual(yield* patient.renew([]), [])
      assert.strictEqual(yield* owner, "patient")
      assert.isTrue(patient.holds(shard))
      const brief = yield* joined("brief", 1000)
      yield* sql`delete from cluster_shards`
      yield* until(brief.take([shard]), ({ length }) => length > 0)
      const began = performance.now()
      yield* until(brief.renew([shard]), () => performance.now() - began > 1500)
      assert.strictEqual(yield* owner, "brief")
    }).pipe(Effect.scoped)
  )
})
