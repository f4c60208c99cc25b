/** Starting a process and following it are two commands; an earlier version stored one for both. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

const often = Schedule.spaced(5)

const setUp = Effect.gen(function* () {
  const { accountId, workspaceId } = yield* newAccount
  const { id: sandboxId } = (yield* createIn({ accountId, workspaceId })).sandbox
  yield* untilStatus(accountId, sandboxId, "running")
  return { accountId, sandboxId }
})
type Place = Effect.Success<typeof setUp>

const start = Effect.fnUntraced(function* (
  { accountId, sandboxId }: Place,
  key: string,
  timeoutSeconds: number | null
) {
  const operations = yield* Operations
  const asked = { ...command, argv: ["hang"], timeoutSeconds }
  return yield* operations.start(accountId, sandboxId, {
    ...request,
    idempotencyKey: key,
    fingerprint: "f",
    request: asked
  })
})

const untilIs = Effect.fnUntraced(function* ({ accountId, sandboxId }: Place, id: string, wanted: string) {
  const operations = yield* Operations
  return yield* Effect.repeat(operations.get(accountId, sandboxId, id), {
    until: ({ status }) => status === wanted,
    schedule: often
  })
})

const process = (world: SimulatedWorld, { sandboxId }: Place, id: string) =>
  Effect.repeat(
    Effect.sync(() => world.machines.get(sandboxId)!.processes.get(id)),
    { until: (found) => found !== undefined, schedule: often }
  ).pipe(Effect.map((found) => found!))

layer(TestDatabase.layer, { excludeTestServices: true })("the process of an operation", (it) => {
  it.effect("is started and followed to its end when an earlier version stored the one command", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const atoll = testAtoll(world, { ATOLL_OPERATIONS_RUNNING: "1" })
      const sql = yield* SqlClient.SqlClient
      const [place, running, queued] = yield* Effect.gen(function* () {
        const place = yield* setUp
        const running = yield* start(place, "running", null)
        yield* untilIs(place, running.id, "running")
        return [place, running, yield* start(place, "queued", null)] as const
      }).pipe(Effect.provide(atoll))
      const renamed = yield* sql<{ readonly before: string }>`
        update actors a set pending = jsonb_set(a.pending, '{0,type}', '"runProcess"')
        from (select id, pending from actors) o
        where a.id = o.id and a.id in (${running.id}, ${queued.id})
        returning o.pending -> 0 ->> 'type' as before`
      assert.sameMembers(
        renamed.map(({ before }) => before),
        ["followProcess", "startProcess"]
      )
      yield* Effect.gen(function* () {
        for (const { id } of [running, queued]) {
          ;(yield* process(world, place, id)).end({ exitCode: 0, signal: null }, Date.now())
          assert.strictEqual((yield* untilIs(place, id, "completed")).exitCode, 0)
        }
      }).pipe(Effect.provide(atoll))
      assert.strictEqual(world.machines.get(place.sandboxId)!.starts.size, 2)
    })
  )

  it.effect("fails by the machine's own decision when its guest ended it at the operation's time-out", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const operations = yield* Operations
        const place = yield* setUp
        const { id } = yield* start(place, "timed", 60)
        yield* untilIs(place, id, "running")
        ;(yield* process(world, place, id)).end({ exitCode: null, signal: "SIGKILL", timedOut: true }, Date.now())
        const { reason } = yield* untilIs(place, id, "failed")
        assert.deepStrictEqual(reason, {
          code: "TIMED_OUT",
          message: "The command did not end within its time-out of 60 s."
        })
        const { transitions } = yield* operations.transitions(place.accountId, place.sandboxId, id, {
          limit: 10,
          cursor: null
        } as never)
        assert.include(JSON.stringify(transitions), '"TIME_OUT"')
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )

  it.effect("has an unknown outcome when its guest reports a time-out that the operation does not have", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const place = yield* setUp
        const { id } = yield* start(place, "untimed", null)
        yield* untilIs(place, id, "running")
        ;(yield* process(world, place, id)).end({ exitCode: null, signal: "SIGKILL", timedOut: true }, Date.now())
        assert.strictEqual((yield* untilIs(place, id, "failed")).reason?.code, "OUTCOME_UNKNOWN")
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
