/**
 * A service's readiness for a balancer: one that reaches none of the hosts is not ready, if another one reaches some.
 */
import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { PublicPort } from "../../../src/access/gateway/PublicPort.ts"
import { untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { fleetApi } from "./FleetApi.ts"

/** No host is taken for silent: hosts stay in use as long as the test takes. */
const patient = { ATOLL_HOST_LEASE_MS: "600000" }

const ready = [200, { status: "ready", reason: null }] as const
const unready = [503, { status: "unready", reason: "None of the fleet's hosts is reached." }] as const

const told = (query = "") =>
  Effect.flatMap(PublicPort, (port) =>
    Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${port.current()}/readyz${query}`)
      return [answer.status, await answer.json()] as const
    })
  )

const untilTold = (status: number) =>
  told().pipe(
    Effect.repeat({ until: ([found]) => found === status, schedule: Schedule.spaced(50) }),
    Effect.timeout("60 seconds")
  )

layer(TestDatabase.layer, { excludeTestServices: true })("a service of a fleet", (it) => {
  it.effect("is ready while it reaches one of the hosts in use, or none is in use", () =>
    Effect.gen(function* () {
      const hosts = yield* Effect.forEach(["1", "2", "3", "4"], (digit) => WorldHost.make(`host_${digit.repeat(24)}`))
      const [one, ...others] = hosts as [WorldHost, ...Array<WorldHost>]
      yield* Effect.gen(function* () {
        assert.deepStrictEqual(yield* told(), ready)
        for (const host of hosts) yield* Effect.forkScoped(host.live)
        for (const { id } of hosts) yield* untilHost(id, "ready")
        for (const host of others) host.isCut = true
        // Longer than the service takes to conclude that it reaches none.
        for (let asked = 0; asked < 80; asked++) {
          assert.deepStrictEqual(yield* told(), ready)
          yield* Effect.sleep("100 millis")
        }
        one.isCut = true
        assert.deepStrictEqual(yield* untilTold(503), unready)
        // As HAProxy expects it.
        assert.deepStrictEqual(yield* told("?unready=404"), [404, unready[1]])
        // The service itself stays healthy.
        const health = yield* Effect.flatMap(PublicPort, (port) =>
          Effect.promise(async () => (await fetch(`http://127.0.0.1:${port.current()}/healthz`)).status)
        )
        assert.strictEqual(health, 200)
        one.isCut = false
        assert.deepStrictEqual(yield* untilTold(200), ready)
      }).pipe(Effect.scoped, Effect.provide(fleetApi(hosts, patient)))
    })
  )
})
