/** A machine's end carries the last moment at which the service saw it alive. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, untilStatus } from "../../support/TestSandboxes.ts"

const often = { ATOLL_RECONCILE_INTERVAL_MS: "50" }
const rarely = { ATOLL_RECONCILE_INTERVAL_MS: "600000" }
const anHourMs = 3_600_000

/** The event that ended its run. */
const endOf = (sandboxId: string) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly event: AnyEvent & { readonly at: number; readonly seenAt?: number } }>`
      select event from transitions where actor_id = ${sandboxId} and event ->> 'type' = 'RUNTIME_DOWN'`
  ).pipe(Effect.map(([row]) => row?.event))

layer(TestDatabase.layer, { excludeTestServices: true })(
  "the last moment at which a dead machine was seen alive",
  (it) => {
    it.effect("is just before the end while the service runs", () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const account = yield* newAccount
        yield* Effect.gen(function* () {
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(account.accountId, id, "running")
          world.crash(id)
          yield* untilStatus(account.accountId, id, "stopped")
          const { at, seenAt } = (yield* endOf(id))!
          assert.isTrue(at - seenAt! < 1000, `${at} ${seenAt}`)
        }).pipe(Effect.provide(testAtoll(world, rarely)))
      })
    )

    it.effect("is the last heartbeat when the service was down meanwhile", () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const sql = yield* SqlClient.SqlClient
        const account = yield* newAccount
        const clock = new ShiftedClock()
        const id = yield* Effect.gen(function* () {
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(account.accountId, id, "running")
          return id
        }).pipe(Effect.provide(testAtoll(world, often)))
        const beat = clock.currentTimeMillisUnsafe()
        yield* sql`update heartbeat set at = ${BigInt(beat)}`
        world.machines.delete(id)
        clock.shiftMs = anHourMs
        yield* untilStatus(account.accountId, id, "stopped").pipe(
          Effect.provide(testAtoll(world, often)),
          Effect.provideService(Clock.Clock, clock)
        )
        const { at, seenAt } = (yield* endOf(id))!
        assert.strictEqual(seenAt, beat)
        assert.isAtLeast(at, beat + anHourMs)
      })
    )

    it.effect("is before the gap when the process was frozen meanwhile, and for a later death it is later", () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const account = yield* newAccount
        const clock = new ShiftedClock()
        yield* Effect.gen(function* () {
          const { id } = (yield* createIn(account)).sandbox
          const later = (yield* createIn(account, "later")).sandbox.id
          yield* untilStatus(account.accountId, id, "running")
          yield* untilStatus(account.accountId, later, "running")
          const frozenAt = clock.currentTimeMillisUnsafe()
          clock.shiftMs = anHourMs
          world.crash(id)
          yield* untilStatus(account.accountId, id, "stopped")
          const { at, seenAt } = (yield* endOf(id))!
          assert.isAtLeast(at, frozenAt + anHourMs)
          assert.isAtMost(seenAt!, frozenAt)
          // As soon as all machines were checked.
          yield* Effect.sleep(500)
          world.crash(later)
          yield* untilStatus(account.accountId, later, "stopped")
          const end = (yield* endOf(later))!
          assert.isTrue(end.at - end.seenAt! < 60_000, `${end.at} ${end.seenAt}`)
        }).pipe(Effect.provide(testAtoll(world, often)), Effect.provideService(Clock.Clock, clock))
      })
    )

    it.effect("is the last check when no event reported the end", () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const account = yield* newAccount
        let lookedAt = 0
        world.intercept = (call) =>
          Effect.sync(() => {
            if (call === "inventory") lookedAt = Date.now()
          })
        yield* Effect.gen(function* () {
          const { id } = (yield* createIn(account)).sandbox
          yield* untilStatus(account.accountId, id, "running")
          const ranAt = Date.now()
          yield* Effect.repeat(
            Effect.delay(
              Effect.sync(() => lookedAt),
              5
            ),
            { until: (at) => at > ranAt + 100 }
          )
          world.machines.delete(id)
          const goneAt = Date.now()
          yield* untilStatus(account.accountId, id, "stopped")
          const { at, seenAt } = (yield* endOf(id))!
          assert.isAtMost(seenAt!, goneAt)
          assert.isAbove(seenAt!, ranAt)
          assert.isAtLeast(at, goneAt)
        }).pipe(Effect.provide(testAtoll(world, often)))
      })
    )

    it.effect("is known from a heartbeat, which is stored while a Sandbox runs and only then", () =>
      Effect.gen(function* () {
        const world = yield* SimulatedWorld.make
        const sql = yield* SqlClient.SqlClient
        const beat = Effect.map(sql<{ readonly at: bigint }>`select at from heartbeat`.pipe(Effect.orDie), ([row]) =>
          Number(row!.at)
        )
        yield* sql`update heartbeat set at = 1`
        yield* sql`update meters set is_running = false`
        yield* Effect.sleep(6000).pipe(Effect.provide(testAtoll(world, often)))
        assert.strictEqual(yield* beat, 1)
        yield* sql`
        insert into meters (sandbox_id, account_id, workspace_id, milli_vcpus, memory_bytes, volume_bytes, revision, at, changed_at, is_running, has_volume, segments, vcpu_sum, memory_sum, volume_sum)
        values ('sbx_x', 'acc_x', 'wsp_x', 1, 1, 1, 1, 1, 1, true, true, 0, 0, 0, 0)`
        const at = yield* Effect.repeat(beat, { schedule: Schedule.spaced(50), until: (at) => at !== 1 }).pipe(
          Effect.provide(testAtoll(world, often))
        )
        assert.isTrue(Date.now() - at < 60_000, String(at))
        yield* sql`delete from meters where sandbox_id = 'sbx_x'`
      })
    )
  }
)
