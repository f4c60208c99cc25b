/** The layers for programs with machines of other kinds, on a server that has an address. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { lockMachine } from "../../../examples/lease/lock.ts"
import { Clients, lockActors } from "../../../examples/lease/lockActor.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { ActorDatabase, ActorSystem } from "../../../src/engine/ActorSystem.ts"
import { Actors } from "../../../src/store/Actors.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const newLock = (leaseMs: number) => ({
  id: "lock_1",
  accountId: "",
  sandboxId: "",
  input: { leaseMs, at: Date.now() },
  payload: null,
  cause: "client",
  requestId: null,
  idempotency: null
})

it.live("actors of other kinds live on an empty database, and one life goes on where the last one ended", () =>
  Effect.gen(function* () {
    const { url } = yield* TestDatabase
    const heard: Array<string> = []
    const clients = Layer.succeed(Clients, {
      tell: ({ client }) => Effect.sync(() => heard.push(client) > 0)
    })
    const life = <A, E>(use: Effect.Effect<A, E, ActorHost | Actors>) =>
      use.pipe(
        Effect.provide(lockActors.pipe(Layer.provideMerge(ActorSystem.layer()), Layer.provide(clients))),
        Effect.provide(ActorDatabase.layer({ dataDir: "/nowhere", databaseUrl: url }), { local: true })
      )
    yield* life(
      Effect.gen(function* () {
        const host = yield* ActorHost
        yield* host.create(lockMachine, newLock(60_000))
        for (const client of ["ann", "ben"]) {
          yield* host.send(lockMachine, "lock_1", { type: "ACQUIRE", client }, { cause: "client" })
        }
      })
    )
    const state = yield* life(
      Effect.gen(function* () {
        const host = yield* ActorHost
        assert.isNull(yield* host.create(lockMachine, newLock(1)), "the first life made it")
        return yield* host.send(lockMachine, "lock_1", { type: "RELEASE", token: 1 }, { cause: "client" })
      })
    )
    assert.deepInclude(state.context, { leaseMs: 60_000, holder: "ben", token: 2, waiting: [] })
    // At least once: the second life may have ended before its command ran, as the first one may.
    const record = yield* life(
      Effect.gen(function* () {
        const host = yield* ActorHost
        while (!(yield* host.isQuiet) || !heard.includes("ben")) yield* Effect.sleep(2)
        return yield* (yield* Actors).read("lock_1")
      })
    )
    assert.strictEqual(record!.status, state.value)
  }).pipe(Effect.provide(TestDatabase.empty))
)
