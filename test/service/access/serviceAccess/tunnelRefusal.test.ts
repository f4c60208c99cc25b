/** What `atoll tunnel` asks the service before it listens. */
import { randomUUID } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { ServiceAccesses } from "../../../../src/access/serviceAccess/ServiceAccesses.ts"
import { tunnelRefusal } from "../../../../src/access/serviceAccess/tunnelClient.ts"
import { TunnelGateway } from "../../../../src/api/http/TunnelGateway.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { requestIdentity, runningSandboxOf, serveGateways } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

const service = (world: SimulatedWorld) =>
  TunnelGateway.layer.pipe(Layer.provideMerge(testAtoll(world, { ATOLL_SERVICE_ACCESS: "on" })))

layer(TestDatabase.layer, { excludeTestServices: true })("a tunnel of the command line", (it) => {
  it.effect("is checked before anything listens, and connects to nothing in the Sandbox", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const listening = yield* serveGateways([yield* TunnelGateway])
        const { accountId, sandboxId } = yield* runningSandboxOf()
        let connections = 0
        world.machines.get(sandboxId)!.listeners.set(5432, () => void connections++)
        const request = { requested_at: Date.now(), ports: [5432, 6379] }
        const asked = { ...requestIdentity, generationId: randomUUID(), request }
        const { capability } = yield* (yield* ServiceAccesses).create(accountId, sandboxId, asked)
        const url = `http://127.0.0.1:${listening}`
        const options = { url, capability, port: 5432, client: "a", onRefused: () => {} }
        const refusal = (given: object) => Effect.promise(() => tunnelRefusal({ ...options, ...given }))
        assert.isNull(yield* refusal({}))
        const wrong = yield* refusal({ capability: "wrong" })
        assert.match(wrong!.sentence, /^The capability is not valid/)
        assert.strictEqual(wrong!.documentation, `${url}/docs#UNAUTHENTICATED`)
        const ports = "The capability does not open port 5433. It opens 5432, 6379."
        assert.strictEqual((yield* refusal({ port: 5433 }))!.sentence, ports)
        const away = yield* refusal({ url: "http://127.0.0.1:1" })
        assert.match(away!.sentence, /was not reached.*--url names another address/)
        assert.isNull(away!.documentation)
        assert.strictEqual(connections, 0)
      }).pipe(Effect.scoped, Effect.provide(service(world)))
    })
  )
})
