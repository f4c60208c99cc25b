/** Builds whose service ends, or is silent, before their image is stored: their Sandboxes are deleted, and those of a living service are left alone. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Clock, Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { Atoll } from "../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { layerWorld } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Images } from "../../../src/image/Images.ts"
import { BuildLeases, buildLeaseMs } from "../../../src/sandbox/BuildLeases.ts"
import { freePort } from "../../support/freePort.ts"
import { ManualClock } from "../../support/race/ManualClock.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"

type Account = Effect.Success<typeof newAccount>

/** One run of a service. To close its scope ends it without a word, like a crash. */
const serviceOn = Effect.fnUntraced(function* (world: SimulatedWorld, environment: Readonly<Record<string, string>>) {
  const scope = yield* Scope.make()
  const service = Atoll.layer({ sweepIntervalMs: 200 }).pipe(
    Layer.provide(layerWorld(world)),
    Layer.provide(ActorCluster.layer),
    Layer.provide(testSettings({ ATOLL_RECONCILE_INTERVAL_MS: "200", ...environment }))
  )
  const context = yield* Layer.buildWithScope(Layer.fresh(service), scope)
  return { context, end: Scope.close(scope, Exit.void) }
})

const inCluster = Effect.map(Effect.promise(freePort), (port) => ({ ATOLL_CLUSTER_PORT: String(port) }))

/** A build whose context ends when `gate` opens. */
const building = ({ accountId, workspaceId }: Account, gate: () => Promise<unknown>) =>
  Effect.flatMap(Images, (images) =>
    images.build({
      ...{ accountId, workspaceId, requestId: "req_test", idempotencyKey: randomUUID(), name: "tools" },
      ...{ encoding: "identity" as const, dockerfile: "Dockerfile", target: null, args: {} },
      body: (async function* () {
        yield Buffer.from("half of it")
        await gate()
      })()
    })
  )

const rowsOf = ({ accountId }: Account) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) => sql<{ readonly id: string; readonly kind: string; readonly status: string }>`
      select id, kind, status from actors where kind in ('sandbox', 'image') and account_id = ${accountId}`
  )

const leases = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql<{ readonly id: string; readonly isEnding: boolean; readonly leftMs: number }>`
    select sandbox_id as id, is_ending as "isEnding", (extract(epoch from lease_until - clock_timestamp()) * 1000)::float8 as "leftMs"
    from build_leases`
)

const expired = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) => sql`update build_leases set lease_until = clock_timestamp() - interval '1 second'`
)

const untilBuilderRuns = (account: Account) =>
  until(rowsOf(account), (found) => found.some(({ status }) => status === "running"))
const untilNothingIsLeft = (account: Account) =>
  Effect.andThen(
    until(leases, (found) => found.length === 0),
    until(rowsOf(account), (found) => found.every(({ status }) => status === "deleted"))
  )

const cleared = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`delete from build_leases`)

layer(TestDatabase.layer, { excludeTestServices: true })("the Sandbox of a build without an image", (it) => {
  it.effect("is deleted by the next service on the database, and its image is refused", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const account = yield* newAccount
      const gate = Promise.withResolvers<void>()
      const one = yield* serviceOn(world, {})
      const asked = yield* Effect.forkChild(
        building(account, () => gate.promise).pipe(Effect.provideContext(one.context))
      )
      yield* untilBuilderRuns(account)
      assert.lengthOf(yield* leases, 1)
      yield* one.end
      const next = yield* serviceOn(world, {})
      yield* untilNothingIsLeft(account)
      assert.lengthOf(world.machines, 0)
      gate.resolve()
      assert.isTrue(Exit.isFailure(yield* Fiber.await(asked)))
      assert.deepStrictEqual(
        (yield* rowsOf(account)).map(({ kind }) => kind),
        ["sandbox"]
      )
      yield* next.end
    })
  )

  it.effect("is left to another service that lives, and deleted once that is silent", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const account = yield* newAccount
      const gate = Promise.withResolvers<void>()
      const one = yield* serviceOn(world, yield* inCluster)
      const other = yield* serviceOn(world, yield* inCluster)
      const asked = yield* Effect.forkChild(
        building(account, () => gate.promise).pipe(Effect.provideContext(one.context))
      )
      yield* untilBuilderRuns(account)
      // Several passes of both.
      yield* Effect.sleep(1500)
      assert.deepStrictEqual(
        (yield* leases).map(({ isEnding }) => isEnding),
        [false]
      )
      assert.deepStrictEqual(
        (yield* rowsOf(account)).map(({ status }) => status),
        ["running"]
      )
      yield* expired
      yield* untilNothingIsLeft(account)
      gate.resolve()
      const exit = yield* Fiber.await(asked)
      assert.include(JSON.stringify(exit), "_UNAVAILABLE")
      assert.isFalse((yield* rowsOf(account)).some(({ kind }) => kind === "image"))
      yield* one.end
      yield* other.end
    })
  )

  it.effect("has no lease after a build that is accepted, and after one that is refused", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const account = yield* newAccount
      const one = yield* serviceOn(world, {})
      const run = building(account, async () => {}).pipe(Effect.provideContext(one.context))
      yield* run
      assert.lengthOf(yield* leases, 0)
      const broken = building(account, () => Promise.reject(new Error("The client is gone.")))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(broken.pipe(Effect.provideContext(one.context)))))
      yield* until(leases, (found) => found.length === 0)
      yield* until(rowsOf(account), (found) =>
        found.every(({ kind, status }) => kind === "image" || status === "deleted")
      )
      yield* one.end
    })
  )
})

layer(TestDatabase.layer, { excludeTestServices: true })("the lease of a build", (it) => {
  const leasesOf = Effect.fnUntraced(function* (environment: Readonly<Record<string, string>>) {
    const built = yield* Layer.build(Layer.fresh(BuildLeases.layer).pipe(Layer.provide(testSettings(environment))))
    return Context.get(built, BuildLeases)
  })
  const shared = { ATOLL_CLUSTER_PORT: "1" }
  const build = { sandboxId: "sbx_one", accountId: "acc_one", imageId: "img_one" }

  it.effect("is renewed while its context comes, and ends a minute after its process", () =>
    Effect.gen(function* () {
      yield* cleared
      const here = yield* leasesOf(shared)
      yield* here.hold(build)
      yield* expired
      const clock = new ManualClock(0)
      const coming = yield* Effect.forkChild(
        Effect.provideService(here.during(build.sandboxId, Effect.never), Clock.Clock, clock)
      )
      yield* until(
        Effect.andThen(
          Effect.sync(() => clock.tick(clock.currentTimeMillisUnsafe() + 20_000)),
          leases
        ),
        ([lease]) => lease!.leftMs > buildLeaseMs / 2
      )
      assert.isAtMost((yield* leases)[0]!.leftMs, buildLeaseMs)
      assert.deepStrictEqual(yield* here.lapsed, [])
      yield* Fiber.interrupt(coming)
      yield* expired
      clock.tick(clock.currentTimeMillisUnsafe() + 100_000)
      assert.deepStrictEqual(yield* here.lapsed, [build])
    }).pipe(Effect.scoped)
  )

  it.effect("is either settled or given up, and once given up it stays so until it is forgotten", () =>
    Effect.gen(function* () {
      yield* cleared
      const here = yield* leasesOf(shared)
      const there = yield* leasesOf(shared)
      yield* here.hold(build)
      assert.deepStrictEqual(yield* there.lapsed, [])
      yield* expired
      assert.deepStrictEqual(yield* there.lapsed, [build])
      assert.isFalse(yield* here.settle(build.sandboxId))
      assert.deepStrictEqual(yield* here.lapsed, [build])
      yield* there.forget(build.sandboxId)
      assert.deepStrictEqual(yield* here.lapsed, [])
      yield* here.hold(build)
      assert.isTrue(yield* here.settle(build.sandboxId))
      assert.isFalse(yield* here.settle(build.sandboxId))
    }).pipe(Effect.scoped)
  )

  it.effect("of another process counts for nothing to one that has the database to itself", () =>
    Effect.gen(function* () {
      yield* cleared
      const before = yield* leasesOf({})
      const next = yield* leasesOf({})
      yield* before.hold(build)
      yield* next.hold({ ...build, sandboxId: "sbx_own" })
      assert.deepStrictEqual(yield* next.lapsed, [build])
    }).pipe(Effect.scoped)
  )
})
