/** Requests of the operator, on their way to the actors of hosts. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { vi } from "vitest"
import { HostActors } from "../../../src/fleet/HostActors.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { HostWishes } from "../../../src/fleet/HostWishes.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { until } from "../../support/until.ts"
import { WorldFleet } from "./WorldFleet.ts"

const id = `host_${"9".repeat(24)}`

/** `told` receives the events for the actor of the host. `ensured` runs before each read of a request, with their number. */
const passing = (told: Array<string>, ensured: (times: number) => Effect.Effect<unknown>) => {
  let times = 0
  const actors = HostActors.of({
    ensure: () => Effect.asVoid(Effect.suspend(() => ensured(++times))),
    joined: () => Effect.void,
    tell: (_, { type }) => Effect.sync(() => told.push(type) > 0)
  })
  return HostWishes.layer.pipe(Layer.provide(Layer.succeed(HostActors, actors)))
}

const asked = Effect.gen(function* () {
  yield* fresh
  yield* new WorldFleet().add({ id })
  const hosts = yield* Hosts
  yield* hosts.ask(id, "DRAIN")
  return hosts
})

layer(TestDatabase.layer, { excludeTestServices: true })("a request of the operator", (it) => {
  it.effect("is read again by a process that was frozen with it in hand", () =>
    Effect.gen(function* () {
      const hosts = yield* asked
      const told: Array<string> = []
      const now = performance.now.bind(performance)
      let frozenMs = 0
      let isFrozen = true
      // As if the process were frozen between any two looks at the clock.
      const clock = vi.spyOn(performance, "now").mockImplementation(() => {
        if (isFrozen) frozenMs += 5000
        return now() + frozenMs
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => clock.mockRestore()))
      const second = Promise.withResolvers<void>()
      yield* Layer.build(
        passing(told, (times) =>
          Effect.gen(function* () {
            if (times === 1) yield* Effect.forkDetach(hosts.ask(id, "UNCORDON").pipe(Effect.delay(100)))
            if (times !== 2) return
            isFrozen = false
            second.resolve()
          })
        )
      )
      yield* Effect.promise(() => second.promise)
      yield* until(hosts.find(id), (host) => host?.asked === null)
      assert.deepStrictEqual(told, ["UNCORDON"])
    }).pipe(Effect.scoped, Effect.provide(Hosts.layer))
  )

  it.effect("is passed on once, by the process that comes first", () =>
    Effect.gen(function* () {
      const hosts = yield* asked
      const told: Array<string> = []
      const sql = yield* SqlClient.SqlClient
      const another = sql`update hosts set asked = null, asked_token = null where id = ${id}`
      yield* Layer.build(passing(told, (times) => (times === 1 ? Effect.orDie(another) : Effect.void)))
      yield* until(hosts.find(id), (host) => host?.asked === null)
      yield* hosts.ask(id, "CORDON")
      yield* until(
        Effect.sync(() => told.length),
        (length) => length > 0
      )
      assert.deepStrictEqual(told, ["CORDON"])
    }).pipe(Effect.scoped, Effect.provide(Hosts.layer))
  )
})
