/** An owner that has missed another one's commit: the state that a client has read decides, not the owner's memory. */
import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Atoll } from "../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../src/engine/ActorCluster.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { layerWorld } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { WalletActors } from "../../../src/wallet/WalletActors.ts"
import { newAccount } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn, request, untilStatus } from "../../support/TestSandboxes.ts"
import { testSettings } from "../../support/TestSettings.ts"

/**
 * Two services that each believe they own every actor and never check for missed commits; the first has a running
 * Sandbox.
 */
const stage = Effect.gen(function* () {
  const world = yield* SimulatedWorld.make
  const life = Atoll.layer({ sweepIntervalMs: 3_600_000, passivateAfterMs: 3_600_000 }).pipe(
    Layer.provide([layerWorld(world), ActorCluster.layerSingle, testSettings()]),
    Layer.fresh,
    Layer.build
  )
  const [one, other] = [yield* life, yield* life]
  const account = yield* newAccount
  const { id } = (yield* createIn(account).pipe(Effect.provideContext(one))).sandbox
  yield* untilStatus(account.accountId, id, "running").pipe(Effect.provideContext(one))

  /** A command's outcome would show it that it has missed a commit. */
  const untilQuiet = (service: typeof one) =>
    Effect.repeat(Context.get(service, ActorHost).isQuiet, {
      until: (isQuiet) => isQuiet,
      schedule: Schedule.spaced(5)
    })
  const of = (service: typeof one) => {
    const sandboxes = Context.get(service, Sandboxes)
    const alone = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.andThen(Effect.all([untilQuiet(one), untilQuiet(other)]), effect)
    return {
      change: (metadata: Readonly<Record<string, string>>) =>
        alone(
          sandboxes.update(account.accountId, id, { requestId: "req_test", request: { metadata }, mayDelete: true })
        ),
      start: alone(sandboxes.start(account.accountId, id, { ...request, idempotencyKey: null })),
      stop: alone(sandboxes.stop(account.accountId, id, request)),
      /** Its account is suspended, and only this service's wallet learns of it. */
      suspend: alone(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          yield* sql`update accounts set suspended_at = 1 where id = ${account.accountId}`
          yield* Context.get(service, WalletActors).changed(account.accountId)
          yield* untilStatus(account.accountId, id, "stopped").pipe(Effect.provideContext(other))
        })
      )
    }
  }
  return { one: of(one), other: of(other), generation: () => world.machines.get(id)?.spec.generation }
})

layer(TestDatabase.layer, { excludeTestServices: true })("two owners of one Sandbox", (it) => {
  it.effect("apply a change to the other's committed state", () =>
    Effect.gen(function* () {
      const { one, other } = yield* stage
      yield* other.change({ team: "blue" })
      const { metadata } = yield* one.change({ tier: "one" })
      assert.deepStrictEqual(metadata, { team: "blue", tier: "one" })
    }).pipe(Effect.timeout("100 seconds"))
  )

  it.effect("boot a Sandbox that the other stopped, and stop one that the other started", () =>
    Effect.gen(function* () {
      const { one, other, generation } = yield* stage
      assert.strictEqual((yield* other.stop).status, "stopped")
      assert.strictEqual((yield* one.start).status, "running")
      assert.strictEqual(generation(), 2)
      assert.strictEqual((yield* other.stop).status, "stopped")
      assert.isUndefined(generation())
    })
  )

  it.effect("stop, for the wallet, a Sandbox that the other started", () =>
    Effect.gen(function* () {
      const { one, other, generation } = yield* stage
      assert.strictEqual((yield* one.stop).status, "stopped")
      assert.strictEqual((yield* other.start).status, "running")
      assert.strictEqual(generation(), 2)
      yield* one.suspend
      assert.isUndefined(generation())
    }).pipe(Effect.timeout("100 seconds"))
  )
})
