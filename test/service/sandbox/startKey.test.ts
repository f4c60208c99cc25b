/** An Idempotency-Key on start makes a repeated start boot once, through every failure in between. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

const runningSandbox = Effect.gen(function* () {
  const account = yield* newAccount
  const { accountId } = account
  const { id } = (yield* createIn(account)).sandbox
  yield* untilStatus(accountId, id, "running")
  const sandboxes = yield* Sandboxes
  const start = sandboxes.start(accountId, id, { ...request, idempotencyKey: "again" })
  const stop = sandboxes.stop(accountId, id, request)
  return { accountId, id, start, stop }
})

const inAWorld = <A, E>(test: Effect.Effect<A, E, Sandboxes | SqlClient.SqlClient>) =>
  Effect.flatMap(SimulatedWorld.make, (world) => Effect.provide(test, testAtoll(world)))

layer(TestDatabase.layer, { excludeTestServices: true })("a start's key", (it) => {
  it.effect("is taken by the commit of the start: no later failure can make it start again", () =>
    inAWorld(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { start, stop } = yield* runningSandbox
        yield* stop
        yield* sql`create function refuse() returns trigger language plpgsql as 'begin raise exception ''refused''; end'`
        yield* sql`create trigger refuse before update on idempotency_keys for each row execute function refuse()`
        yield* Effect.exit(start)
        yield* sql`drop trigger refuse on idempotency_keys`
        assert.deepInclude(yield* stop, { status: "stopped", generation: 2 })
        assert.deepInclude(yield* start, { status: "stopped", generation: 2 })
      })
    )
  )

  it.effect("stays free when its start cannot be committed", () =>
    inAWorld(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const { accountId, id, start, stop } = yield* runningSandbox
        yield* stop
        yield* sql`create function refuse_log() returns trigger language plpgsql as 'begin raise exception ''refused''; end'`
        yield* sql`create trigger refuse_log before insert on transitions for each row when (new.actor_id = ${sql.literal(`'${id}'`)}) execute function refuse_log()`
        yield* Effect.exit(start)
        const keys = yield* sql`select 1 from idempotency_keys where target_id = ${id} and key = 'again'`
        assert.lengthOf(keys, 0)
        yield* sql`drop trigger refuse_log on transitions`
        assert.deepInclude(yield* start, { status: "running", generation: 2 })
        assert.strictEqual((yield* (yield* Sandboxes).get(accountId, id)).generation, 2)
      })
    )
  )

  it.effect("is also taken by a start that finds the Sandbox running", () =>
    inAWorld(
      Effect.gen(function* () {
        const { start, stop } = yield* runningSandbox
        assert.deepInclude(yield* start, { status: "running", generation: 1 })
        yield* stop
        assert.deepInclude(yield* start, { status: "stopped", generation: 1 })
      })
    )
  )

  it.effect("boots once for many concurrent starts", () =>
    inAWorld(
      Effect.gen(function* () {
        const { start, stop } = yield* runningSandbox
        yield* stop
        const answers = yield* Effect.all(
          Array.from({ length: 8 }, () => start),
          { concurrency: "unbounded" }
        )
        for (const answer of answers) assert.deepInclude(answer, { status: "running", generation: 2 })
        yield* stop
        assert.deepInclude(yield* start, { status: "stopped", generation: 2 })
      })
    )
  )
})
