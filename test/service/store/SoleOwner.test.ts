/** A process that holds its database alone answers what it has in memory; never once another process can have changed it. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Redacted, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { Actors } from "../../../src/store/Actors.ts"
import { Database } from "../../../src/store/Database.ts"
import { DatabaseClaim } from "../../../src/store/DatabaseClaim.ts"
import { DatabaseServer } from "../../../src/store/DatabaseServer.ts"
import { type Claimant, SoleOwnership, ThisClaimant } from "../../../src/store/SoleOwner.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, untilStatus } from "../../support/TestSandboxes.ts"
import { testSettings } from "../../support/TestSettings.ts"

const soon = { schedule: Schedule.spaced(20), times: 500 } as const
const nameOf = (name: string): Claimant => ({ name, isDead: (other) => other.startsWith("dead") })

/** A process with separate connections, and its claim. */
const process = (claimant: Claimant, environment: Readonly<Record<string, string>> = {}) =>
  Effect.map(TestDatabase, ({ url }) =>
    DatabaseClaim.layer.pipe(
      Layer.provideMerge(Layer.fresh(Database.layerOn.pipe(Layer.provide(DatabaseServer.at(Redacted.make(url)))))),
      Layer.provide(Layer.succeed(ThisClaimant, claimant)),
      Layer.provideMerge(testSettings(environment))
    )
  ).pipe(Layer.unwrap)

/** How long a claim takes, and what it leaves in the table. */
const claimAs = (name: string, environment: Readonly<Record<string, string>> = {}) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const before = performance.now()
    yield* Layer.build(process(nameOf(name), environment))
    const ms = performance.now() - before
    return {
      ms,
      claimants: (yield* sql<{ claimant: string }>`select claimant from sole_claims`).map((row) => row.claimant)
    }
  }).pipe(Effect.scoped)

const lastWas = (name: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`delete from sole_claims`
    yield* sql`insert into sole_claims (claimant) values (${name})`
  })

/** A service with its claim, and one running Sandbox that was read since it runs. */
const served = Effect.gen(function* () {
  const world = yield* SimulatedWorld.make
  const service = yield* Layer.build(Layer.fresh(testAtoll(world)).pipe(Layer.provideMerge(process(nameOf("one")))))
  const account = yield* newAccount
  const { id } = (yield* createIn(account).pipe(Effect.provideContext(service))).sandbox
  yield* untilStatus(account.accountId, id, "running").pipe(Effect.provideContext(service))
  const owner = Context.get(service, SoleOwnership)
  const actors = Context.get(service, Actors)
  const nameRead = Effect.map(actors.read(id), (record) => (record!.context as { readonly name: string | null }).name)
  /** As another process would. */
  const changeBehindItsBack = (name: string) =>
    Effect.flatMap(
      SqlClient.SqlClient,
      (sql) => sql`update actors set revision = revision + 1,
        snapshot = jsonb_set(snapshot, '{context,name}', ${JSON.stringify(name)}::jsonb) where id = ${id}`
    )
  const untilSure = Effect.andThen(
    nameRead,
    Effect.sync(() => owner.isSure() && owner.revisionOf(id) !== null)
  ).pipe(Effect.repeat({ until: (isSure: boolean) => isSure, ...soon }))
  return { service, account, id, owner, actors, nameRead, changeBehindItsBack, untilSure }
})

layer(TestDatabase.layer, { excludeTestServices: true })("a process that holds its database alone", (it) => {
  it.effect("reads its own commits from memory, and the database when it is not sure", () =>
    Effect.gen(function* () {
      const { service, account, id, owner, nameRead, changeBehindItsBack, untilSure } = yield* served
      const sandboxes = Context.get(service, Sandboxes)
      yield* untilSure
      yield* sandboxes.update(account.accountId, id, {
        requestId: "req_test",
        request: { name: "mine" },
        mayDelete: true
      })
      assert.strictEqual(yield* nameRead, "mine")
      yield* untilSure
      yield* changeBehindItsBack("theirs")
      assert.strictEqual(yield* nameRead, "mine")
      owner.lost()
      assert.strictEqual(yield* nameRead, "theirs")
    }).pipe(Effect.scoped)
  )

  it.effect("loads what is read again", () =>
    Effect.gen(function* () {
      const { account, id, owner, service, nameRead, untilSure } = yield* served
      yield* Context.get(service, Sandboxes).stop(account.accountId, id, request)
      yield* untilSure
      owner.overtaken()
      assert.isNull(owner.revisionOf(id))
      yield* untilSure
      assert.isNull(yield* nameRead)
    }).pipe(Effect.scoped)
  )

  it.effect("asks the database once another process can hold it, and forgets what it knew", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { owner, id, nameRead, changeBehindItsBack, untilSure } = yield* served
      yield* untilSure
      const { epoch } = owner
      // It waits for the claim, so it gets it when that session ends.
      yield* Effect.gen(function* () {
        const mine = (yield* sql<{ pid: number }>`select pg_backend_pid() as pid`)[0]!.pid
        yield* sql`select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and granted and pid <> ${mine}
          and classid = 97 and objid = 1953459308`
        yield* sql`select pg_advisory_xact_lock(418565287020)`
        yield* Effect.sleep(1000)
        yield* sql`update sole_claims set claimant = 'another'`
        yield* changeBehindItsBack("theirs")
      }).pipe(sql.withTransaction)
      assert.isFalse(owner.isSure())
      assert.strictEqual(yield* nameRead, "theirs")
      yield* untilSure
      assert.isAbove(owner.epoch, epoch)
      assert.strictEqual(yield* nameRead, "theirs")
      assert.isNotNull(owner.revisionOf(id))
    }).pipe(Effect.scoped)
  )

  it.effect("waits for a predecessor that may still be sure, and for no other", () =>
    Effect.gen(function* () {
      yield* lastWas("frozen")
      const afterFrozen = yield* claimAs("next")
      assert.isAtLeast(afterFrozen.ms, 990)
      assert.deepStrictEqual(afterFrozen.claimants, ["next"])
      const afterLeft = yield* claimAs("third")
      assert.deepStrictEqual(afterLeft.claimants, ["third"])
      yield* lastWas("dead")
      const afterDead = yield* claimAs("fourth")
      assert.deepStrictEqual(afterDead.claimants, ["fourth"])
      assert.isBelow(Math.min(afterLeft.ms, afterDead.ms), 900)
      yield* lastWas("frozen")
      const shared = yield* claimAs("fifth", { ATOLL_CLUSTER_PORT: "1", ATOLL_CLUSTER_HOST: "127.0.0.1" })
      assert.isAtLeast(shared.ms, 990)
      assert.deepStrictEqual(shared.claimants, [])
    })
  )
})

layer(TestDatabase.layerEmpty, { excludeTestServices: true })("a database without tables", (it) => {
  it.effect("is claimed for a restore, which is never sure of it", () =>
    Effect.gen(function* () {
      const owner = Context.get(yield* Layer.build(process(nameOf("restore"))), SoleOwnership)
      yield* Effect.sleep(100)
      assert.isFalse(owner.isSure())
    }).pipe(Effect.scoped)
  )
})
