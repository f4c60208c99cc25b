/** A semaphore that several processes of a cluster share. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { ClusterSemaphore } from "../../../src/store/ClusterSemaphore.ts"
import type { Bound } from "../../../src/store/HeldPermits.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

/** As `ProcessLeases` writes it. */
const join = Effect.fnUntraced(function* (port: number, id: string) {
  const sql = yield* SqlClient.SqlClient
  const address = `127.0.0.1:${port}`
  yield* sql`delete from cluster_processes where address = ${address}`
  yield* sql`
    insert into cluster_processes (id, address, runner, lease_until)
    values (${id}, ${address}, '', clock_timestamp() + interval '1 hour')`
})

const semaphoreAt = (port: number) =>
  Effect.map(
    Layer.build(
      Layer.fresh(ClusterSemaphore.layerOf(100)).pipe(Layer.provide(testSettings({ ATOLL_CLUSTER_PORT: String(port) })))
    ),
    (built) => Context.get(built, ClusterSemaphore)
  )

const two = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`delete from cluster_processes`
  yield* join(1, "one")
  yield* join(2, "two")
  return { sql, one: yield* semaphoreAt(1), two: yield* semaphoreAt(2) }
})

const four: ReadonlyArray<Bound> = [{ subject: "streams acc_1", most: 4 }]

/** Takes so many slots concurrently; each is free. */
const entered = (semaphore: ClusterSemaphore["Service"], times: number, bounds = four) =>
  Effect.forEach(
    Array.from({ length: times }),
    () => Effect.map(semaphore.enter(bounds), (release) => release ?? assert.fail("there was no permit")),
    { concurrency: "unbounded" }
  )

/** Another process may release slowly. */
const enteredSoon = (semaphore: ClusterSemaphore["Service"]) =>
  Effect.repeat(semaphore.enter(four), { until: (release) => release !== null, schedule: Schedule.spaced(20) })

const storedBecomes = (expected: number) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) =>
    Effect.repeat(
      sql<{ readonly id: string; readonly places: number }>`select sum(places)::int4 as places from held_places`,
      {
        until: ([row]) => row!.places === expected,
        schedule: Schedule.spaced(20)
      }
    )
  )

layer(TestDatabase.layer, { excludeTestServices: true })("a semaphore of two processes", (it) => {
  it.effect("has as many slots as for one process, and another process can take a released one", () =>
    Effect.gen(function* () {
      const { one, two: other } = yield* two
      const [first] = yield* Effect.map(
        Effect.all([entered(one, 3), entered(other, 1)], { concurrency: "unbounded" }),
        ([releases]) => releases
      )
      assert.deepStrictEqual(yield* Effect.all([one.enter(four), other.enter(four)], { concurrency: 2 }), [null, null])
      // Another account is unaffected.
      yield* entered(other, 4, [{ subject: "streams acc_2", most: 4 }])
      first!()
      first!()
      yield* enteredSoon(other)
      assert.isNull(yield* one.enter(four))
    })
  )

  it.effect("has its slots free again when a process that held some has ended, or leaves", () =>
    Effect.gen(function* () {
      const { sql, one, two: other } = yield* two
      yield* entered(one, 1)
      yield* entered(other, 3)
      assert.isNull(yield* one.enter(four))
      yield* sql`update cluster_processes set lease_until = clock_timestamp() - interval '1 ms' where id = 'two'`
      yield* entered(one, 3)
      assert.isNull(yield* one.enter(four))
      yield* sql`update cluster_processes set leaving = true where id = 'one'`
      yield* join(2, "two again")
      yield* entered(yield* semaphoreAt(2), 4)
    })
  )

  it.effect(
    "leaves slots with a process that was frozen while others took them; it grants none until they are few again",
    () =>
      Effect.gen(function* () {
        const { sql, one, two: other } = yield* two
        const releases = yield* entered(one, 4)
        yield* sql`delete from cluster_processes where id = 'one'`
        yield* entered(other, 2)
        // While its state is unknown, it grants as many as it may alone.
        assert.isNull(yield* one.enter(four))
        yield* join(1, "one again")
        yield* storedBecomes(6)
        assert.deepStrictEqual(yield* Effect.all([one.enter(four), other.enter(four)], { concurrency: 2 }), [
          null,
          null
        ])
        for (const release of releases.slice(0, 3)) release()
        yield* enteredSoon(other)
        assert.isNull(yield* one.enter(four))
      })
  )

  it.effect("costs no statement per slot", () =>
    Effect.gen(function* () {
      const { sql, one } = yield* two
      yield* sql`create table claims (subject text)`
      yield* sql.unsafe(
        `create function note_claim() returns trigger language plpgsql as $$ begin insert into claims values (''); return null; end $$`
      )
      yield* sql.unsafe(
        `create trigger noted after insert or update on held_places for each statement execute function note_claim()`
      )
      const many = [
        { subject: "connections sbx_1", most: 256 },
        { subject: "connections acc_1", most: 1024 }
      ]
      for (let turn = 0; turn < 1000; turn++) (yield* one.enter(many))!()
      const [row] = yield* sql<{ readonly count: number }>`select count(*)::int4 as count from claims`
      assert.isAtMost(row!.count, 10)
    })
  )
})
