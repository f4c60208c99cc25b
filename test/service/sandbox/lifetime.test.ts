/** Automatic ends of a Sandbox: durable deadlines, exact to the millisecond of the service's clock. */
import { assert, layer } from "@effect/vitest"
import { Clock, Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { Lifetime } from "../../../schemas/contexts/Sandbox.ts"
import type { UpdateSandboxRequest } from "../../../schemas/Sandbox.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { ShiftedClock } from "../../support/ShiftedClock.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, request, untilStatus } from "../../support/TestSandboxes.ts"

const nothing: Lifetime = { stopAfterSeconds: null, stopAfterIdleSeconds: null, deleteAfterStoppedSeconds: null }
const begin = Date.parse("2026-03-01T12:00:00.000Z")
const instant = (ms: number) => new Date(ms).toISOString()

/**
 * An account on a clock that stands still until a test moves it; each `life` is one run of the service, which ends as
 * by a crash.
 */
const stage = (environment: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const clock = new ShiftedClock()
    clock.frozenAt = begin
    const account = yield* newAccount
    const { accountId, workspaceId } = account
    const create = (lifetime: Partial<Lifetime> | null) =>
      Effect.gen(function* () {
        const { sandbox } = yield* (yield* Sandboxes).create({
          accountId,
          requestId: "req_test",
          idempotencyKey: "k",
          fingerprint: "f",
          request: { workspaceId, name: null, networkEnabled: false, metadata: {}, env: {}, lifetime }
        })
        return yield* untilStatus(accountId, sandbox.id, "running")
      })
    const life = <A, E>(effect: Effect.Effect<A, E, Sandboxes | Operations | SqlClient.SqlClient>) =>
      effect.pipe(Effect.provide(testAtoll(world, environment)), Effect.provideService(Clock.Clock, clock))
    const get = (id: string) => Effect.flatMap(Sandboxes, (sandboxes) => sandboxes.get(accountId, id))
    const until = (id: string, status: string) => untilStatus(accountId, id, status)
    const update = (id: string, changes: UpdateSandboxRequest) =>
      Effect.flatMap(Sandboxes, (sandboxes) =>
        sandboxes.update(accountId, id, { requestId: "req_test", request: changes, mayDelete: true })
      )
    const execute = (id: string) =>
      Effect.flatMap(Operations, (operations) =>
        operations.execute(accountId, id, { ...command, argv: ["echo"], timeoutSeconds: 20 }, request)
      )
    /** Its log without the creation. */
    const log = (id: string) =>
      Effect.flatMap(Sandboxes, (sandboxes) =>
        sandboxes.transitions(accountId, id, { limit: 1000, cursor: null })
      ).pipe(
        Effect.map(({ transitions }) =>
          transitions.slice(1).map(({ event, at }) => [event.type, Date.parse(at)] as const)
        )
      )
    /** Waits until the service checks when it was last used, and returns the instant of the next check. */
    const untilLookedAt = (id: string) =>
      Effect.gen(function* () {
        const before = (yield* get(id)).lifetime.idleStopAt
        const { lifetime } = yield* Effect.repeat(get(id), {
          schedule: Schedule.spaced(5),
          until: ({ lifetime }) => lifetime.idleStopAt !== before
        })
        return lifetime.idleStopAt === null ? null : Date.parse(lifetime.idleStopAt)
      })
    return { world, clock, accountId, create, life, get, until, update, execute, log, untilLookedAt }
  })

layer(TestDatabase.layer, { excludeTestServices: true })("a lifetime", (it) => {
  it.effect("stops a Sandbox after its longest run, to the millisecond and over a restart, and then deletes it", () =>
    Effect.gen(function* () {
      const { world, clock, life, create, get, until, execute, log } = yield* stage()
      const made = yield* life(
        Effect.gen(function* () {
          const made = yield* create({ stopAfterSeconds: 3600, deleteAfterStoppedSeconds: 7200 })
          assert.deepStrictEqual(made.lifetime, {
            ...nothing,
            stopAfterSeconds: 3600,
            deleteAfterStoppedSeconds: 7200,
            stopAt: instant(begin + 3_600_000),
            idleStopAt: null,
            deleteAt: null
          })
          return made
        })
      )
      const { id } = made
      yield* life(
        Effect.gen(function* () {
          clock.frozenAt = begin + 3_599_999
          yield* execute(id)
          assert.deepStrictEqual((yield* get(id)).lifetime, made.lifetime)
          clock.frozenAt = begin + 3_600_000
          const { statusReason, lifetime, stoppedAt } = yield* until(id, "stopped")
          assert.strictEqual(statusReason?.code, "LIFETIME_ENDED")
          assert.deepStrictEqual(
            [stoppedAt, lifetime.stopAt, lifetime.deleteAt],
            [instant(clock.frozenAt), null, instant(begin + 10_800_000)]
          )
          assert.deepInclude(yield* log(id), ["STOP_DUE", begin + 3_600_000])
        })
      )
      clock.frozenAt = begin + 10_799_999
      yield* life(
        Effect.gen(function* () {
          assert.strictEqual((yield* get(id)).status, "stopped")
          clock.frozenAt = begin + 10_800_000
          const { deletedAt, lifetime } = yield* until(id, "deleted")
          assert.deepStrictEqual([deletedAt, lifetime.deleteAt], [instant(clock.frozenAt), null])
          assert.isFalse(world.machines.has(id))
        })
      )
    })
  )

  it.effect("stops an unused Sandbox; a use costs no commit, and an operation counts as a use until its end", () =>
    Effect.gen(function* () {
      const { clock, life, create, until, accountId, execute, log, untilLookedAt } = yield* stage()
      yield* life(
        Effect.gen(function* () {
          const { id, lifetime } = yield* create({ stopAfterIdleSeconds: 600 })
          assert.deepStrictEqual([lifetime.stopAt, lifetime.idleStopAt], [null, instant(begin + 600_000)])
          const quiet = yield* log(id)
          clock.frozenAt = begin + 300_000
          for (let use = 0; use < 5; use++) yield* execute(id)
          assert.deepStrictEqual(yield* log(id), quiet)
          clock.frozenAt = begin + 600_000
          assert.strictEqual(yield* untilLookedAt(id), begin + 900_000)

          const operations = yield* Operations
          const sql = yield* SqlClient.SqlClient
          const { id: operationId } = yield* operations.start(accountId, id, {
            ...request,
            idempotencyKey: "hang",
            fingerprint: "f",
            request: { ...command, argv: ["hang"], timeoutSeconds: null }
          })
          clock.frozenAt = begin + 900_000
          assert.strictEqual(yield* untilLookedAt(id), begin + 1_500_000)
          clock.frozenAt = begin + 1_400_000
          yield* operations.cancel(accountId, id, operationId, request)
          // The operation is a use until all of it is done.
          yield* Effect.repeat(sql`select 1 from actors where id = ${operationId} and pending <> '[]'::jsonb`, {
            schedule: Schedule.spaced(5),
            until: (rows) => rows.length === 0
          })
          clock.frozenAt = begin + 1_500_000
          assert.strictEqual(yield* untilLookedAt(id), begin + 2_000_000)
          clock.frozenAt = begin + 2_000_000
          const { statusReason, lifetime: over } = yield* until(id, "stopped")
          assert.deepStrictEqual([statusReason?.code, over.idleStopAt], ["IDLE_TOO_LONG", null])
          assert.deepInclude(yield* log(id), ["WAS_IDLE", begin + 2_000_000])
        })
      )
    })
  )

  it.effect("takes a restart of the service for a use, because earlier uses are not stored", () =>
    Effect.gen(function* () {
      const { clock, life, create, until, untilLookedAt, get } = yield* stage()
      const { id } = yield* life(create({ stopAfterIdleSeconds: 600 }))
      clock.frozenAt = begin + 599_000
      yield* life(
        Effect.gen(function* () {
          assert.strictEqual((yield* get(id)).lifetime.idleStopAt, instant(begin + 600_000))
          clock.frozenAt = begin + 600_000
          assert.strictEqual(yield* untilLookedAt(id), begin + 1_199_000)
          clock.frozenAt = begin + 1_199_000
          assert.strictEqual((yield* until(id, "stopped")).statusReason?.code, "IDLE_TOO_LONG")
        })
      )
    })
  )

  it.effect("ends a sleep without waking anything, and waking does not lengthen a run", () =>
    Effect.gen(function* () {
      const { clock, life, create, until, execute, get, world } = yield* stage({ ATOLL_SLEEP_AFTER_SECONDS: "60" })
      yield* life(
        Effect.gen(function* () {
          const { id, lifetime } = yield* create({ stopAfterSeconds: 3600, stopAfterIdleSeconds: 600 })
          const asleep = Effect.andThen(
            until(id, "sleeping"),
            Effect.repeat(
              Effect.sync(() => world.machines.get(id)?.state),
              { schedule: Schedule.spaced(5), until: (state) => state === "suspended" }
            )
          )
          clock.frozenAt = begin + 60_000
          yield* asleep
          assert.deepStrictEqual((yield* get(id)).lifetime, lifetime)
          clock.frozenAt = begin + 500_000
          yield* execute(id)
          const woken = (yield* until(id, "running")).lifetime
          assert.deepStrictEqual([woken.stopAt, woken.idleStopAt], [lifetime.stopAt, instant(begin + 1_100_000)])
          clock.frozenAt = begin + 560_000
          yield* asleep
          clock.frozenAt = begin + 1_100_000
          const { statusReason, generation } = yield* until(id, "stopped")
          assert.deepStrictEqual([statusReason?.code, generation], ["IDLE_TOO_LONG", 1])
        })
      )
    })
  )

  it.effect("changes with an update, and still counts from the boot and the stop", () =>
    Effect.gen(function* () {
      const { clock, life, create, update, until, accountId, get } = yield* stage()
      yield* life(
        Effect.gen(function* () {
          const sandboxes = yield* Sandboxes
          const { id } = yield* create(null)
          clock.frozenAt = begin + 100_000
          const limited = yield* update(id, { lifetime: { stopAfterSeconds: 200, stopAfterIdleSeconds: 50 } })
          assert.deepStrictEqual(
            [limited.lifetime.stopAt, limited.lifetime.idleStopAt],
            [instant(begin + 200_000), instant(begin + 150_000)]
          )
          const longer = yield* update(id, { lifetime: { stopAfterSeconds: 3600, stopAfterIdleSeconds: null } })
          assert.deepStrictEqual(
            [longer.lifetime.stopAt, longer.lifetime.idleStopAt],
            [instant(begin + 3_600_000), null]
          )
          assert.deepStrictEqual((yield* update(id, { name: "named" })).lifetime, longer.lifetime)
          clock.frozenAt = begin + 200_000
          assert.strictEqual((yield* get(id)).status, "running")
          // A deadline that has passed already fires immediately.
          yield* update(id, { lifetime: { stopAfterSeconds: 150 } })
          yield* until(id, "stopped")

          const kept = yield* update(id, { lifetime: { deleteAfterStoppedSeconds: 60 } })
          assert.strictEqual(kept.lifetime.deleteAt, instant(begin + 260_000))
          yield* sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
          const running = yield* until(id, "running")
          assert.deepStrictEqual(
            [running.lifetime.stopAt, running.lifetime.deleteAt],
            [instant(begin + 350_000), null],
            "a later boot starts over, and is not deleted"
          )
          yield* sandboxes.stop(accountId, id, request)
          clock.frozenAt = begin + 300_000
          yield* update(id, { lifetime: null })
          assert.deepInclude((yield* get(id)).lifetime, { ...nothing, deleteAt: null })
          yield* update(id, { lifetime: { deleteAfterStoppedSeconds: 0 } })
          yield* until(id, "deleted")
        })
      )
    })
  )

  it.effect("is added to a Sandbox that an older version stored, which goes on as before", () =>
    Effect.gen(function* () {
      const { clock, life, create, update, until, execute, get } = yield* stage()
      const sql = yield* SqlClient.SqlClient
      const made = yield* life(create(null))
      const { id } = made
      const since = ["env", "lifetime", "upAt", "idleStopAt", "edition", "madeWith"]
      yield* sql`
        update actors set machine_version = 1, input = input - ${since}::text[],
          snapshot = jsonb_set(snapshot, '{context}', (snapshot -> 'context') - ${since}::text[])
        where id = ${id}`
      yield* life(
        Effect.gen(function* () {
          assert.deepStrictEqual(yield* get(id), made)
          yield* execute(id)
          const { lifetime } = yield* update(id, { lifetime: { stopAfterSeconds: 60 } })
          assert.strictEqual(lifetime.stopAt, instant(begin + 60_000))
        })
      )
      clock.frozenAt = begin + 60_000
      yield* life(until(id, "stopped"))
      const [row] = yield* sql<{
        readonly machine_version: number
      }>`select machine_version from actors where id = ${id}`
      assert.isAbove(row!.machine_version, 1, "and is stored as this version has it, once")
    })
  )
})
