/** Which process of a cluster may own which shard. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { ProcessLeases } from "../../../src/store/ProcessLeases.ts"
import { DatabaseLink } from "../../support/DatabaseLink.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"

const shard = "default:1"

const joined = Effect.fnUntraced(function* (address: string, leaseMs: number, url: string | null = null) {
  const settings = testSettings({ ATOLL_CLUSTER_LEASE_MS: String(leaseMs) })
  const leasing = Layer.fresh(ProcessLeases.layer).pipe(Layer.provide(settings))
  const built = yield* Layer.build(
    url === null ? leasing : leasing.pipe(Layer.provide(DatabaseServer.at(Redacted.make(url))))
  )
  const leases = Context.get(built, ProcessLeases)
  yield* leases.join({ address, runner: "" })
  return leases
})

/** The address of the process that owns the shard. */
const owner = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const [row] = yield* sql<{ readonly address: string }>`
    select address from cluster_shards s join cluster_processes p on p.id = s.process_id where shard_id = ${shard}`
  return row?.address ?? null
})

layer(TestDatabase.layer, { excludeTestServices: true })("leases of shards", (it) => {
  it.effect("that are granted after the process has stopped waiting go to another process", () =>
    Effect.gen(function* () {
      const one = yield* joined("one", 2000)
      const other = yield* joined("other", 60_000)
      const another = "default:2"
      assert.deepStrictEqual(yield* other.take([another]), [another])
      // It waits for the other one, too; a cluster gives up a slow request, and may want neither afterwards.
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

  it.effect("go to no process that leaves, and are free once they are released", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from cluster_shards`
      const going = yield* joined("going", 2000)
      const staying = yield* joined("staying", 2000)
      assert.deepStrictEqual(yield* going.take([shard]), [shard])
      yield* going.leave
      assert.deepStrictEqual(yield* going.take(["default:7"]), [])
      assert.isTrue(going.holds(shard))
      yield* going.release(shard)
      assert.isFalse(going.holds(shard))
      assert.deepStrictEqual(yield* staying.take([shard]), [shard])
    }).pipe(Effect.scoped)
  )

  it.effect(
    "are shared by the processes that live: without those whose lease is over, that leave, or were replaced",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`delete from cluster_processes`
        const leaving = yield* joined("leaving", 60_000)
        yield* joined("dead", 60_000)
        const lives = yield* joined("lives", 60_000)
        yield* joined("replaced", 60_000)
        yield* joined("replaced", 60_000)
        yield* leaving.leave
        yield* sql`update cluster_processes set lease_until = clock_timestamp() - interval '1 second' where address = 'dead'`
        const found = yield* lives.living([])
        assert.deepStrictEqual(found.map(({ address }) => address).sort(), ["lives", "replaced"])
        // Of a living process no other one takes a shard.
        assert.deepStrictEqual(yield* lives.take([shard]), [shard])
        const other = yield* joined("other", 1000)
        assert.deepStrictEqual(yield* other.take([shard]), [])
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
      const rival = yield* joined("rival", 1000)
      yield* sql`delete from cluster_shards`
      yield* until(brief.take([shard]), ({ length }) => length > 0)
      const began = performance.now()
      yield* until(brief.renew([shard]), () => performance.now() - began > 1500)
      // Without the renewals its lease would be over.
      assert.deepStrictEqual(yield* rival.take([shard]), [])
      assert.strictEqual(yield* owner, "brief")
    }).pipe(Effect.scoped)
  )

  it.effect("are granted to a process with a slow connection to the database, including those of a dead process", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from cluster_shards`
      const { name } = yield* TestDatabase
      const leaseMs = 4000
      const gone = yield* joined("gone", 1000)
      const wanted = Array.from({ length: 300 }, (_, at) => `far:${at}`)
      yield* until(gone.take(wanted.slice(100)), ({ length }) => length === 200)
      const lives = yield* joined("lives", 60_000)
      const another = "far:0"
      assert.deepStrictEqual(yield* lives.take([another]), [another])
      const link = yield* DatabaseLink.open(200)
      const far = yield* joined("far", leaseMs, link.urlOf(name))
      // As the cluster requests them, and gives up.
      const within = leaseMs / 4
      yield* Effect.forkScoped(Effect.repeat(far.living([]), Schedule.spaced(250)))
      yield* Effect.forkScoped(Effect.repeat(far.renew([]), Schedule.fixed(within)))
      const taken = yield* until(
        Effect.timeoutOption(far.take(wanted), within),
        (found) => found._tag === "Some" && found.value.length === wanted.length - 1
      )
      assert.deepStrictEqual(
        taken._tag === "Some" ? taken.value.toSorted() : null,
        wanted.filter((it) => it !== another).toSorted()
      )
      for (const it of wanted) assert.strictEqual(far.holds(it), it !== another)
    }).pipe(Effect.scoped)
  )

  it.effect("count from the request to join, too", () =>
    Effect.gen(function* () {
      const { name } = yield* TestDatabase
      const leaseMs = 1000
      const link = yield* DatabaseLink.open(300)
      const asked = performance.now()
      const far = yield* joined("late", leaseMs, link.urlOf(name))
      yield* far.take(["late:1"])
      // To connect takes longer than the lease.
      assert.isAbove(performance.now() - asked, leaseMs)
      assert.isFalse(far.holds("late:1"))
    }).pipe(Effect.scoped)
  )

  it.effect("count from the request: a slow answer does not make them longer", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from cluster_shards`
      const { name } = yield* TestDatabase
      const leaseMs = 4000
      const link = yield* DatabaseLink.open(300)
      const far = yield* joined("slow", leaseMs, link.urlOf(name))
      yield* far.take([shard])
      const asked = performance.now()
      assert.deepStrictEqual(yield* far.renew([shard]), [shard])
      const answered = performance.now()
      assert.isTrue(far.holds(shard))
      // The answer took long enough to tell the two instants apart.
      assert.isAbove(answered - asked, 500)
      let heldAt = answered
      yield* until(
        Effect.sync(() => {
          const now = performance.now()
          if (!far.holds(shard)) return false
          heldAt = now
          return true
        }),
        (isHeld) => !isHeld
      )
      assert.isBelow(heldAt - asked, leaseMs + 300)
    }).pipe(Effect.scoped)
  )
})
