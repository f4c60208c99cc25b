/**
 * Previews on the service's own listener: they share the API's port, and an open stream does not delay the end of the
 * service.
 */
import { once } from "node:events"
import { createServer, request } from "node:http"
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { WebSocket, WebSocketServer } from "ws"
import { PublicPort } from "../../../../src/access/gateway/PublicPort.ts"
import { Previews } from "../../../../src/access/preview/Previews.ts"
import { Listener } from "../../../../src/api/http/Listener.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { listenInside, requestIdentity, runningSandboxOf } from "../../../support/GatewayServer.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const api = HttpRouter.serve(HttpRouter.add("GET", "/me", Effect.succeed(HttpServerResponse.text("the API"))), {
  disableLogger: true,
  disableListenLog: true
})

layer(TestDatabase.layer, { excludeTestServices: true })("the service's listener", (it) => {
  it.effect("serves previews beside the API, and stops promptly although one streams", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const inside = createServer((_, response) => response.end("the preview"))
        new WebSocketServer({ server: inside }).on("connection", () => {})
        const { accountId, sandboxId } = yield* runningSandboxOf()
        listenInside(world, sandboxId, 80, inside)
        const previews = yield* Previews
        let stoppingAt = 0
        let gone: Promise<unknown> = Promise.resolve()
        yield* Effect.gen(function* () {
          yield* HttpServer.HttpServer
          const port = (yield* PublicPort).current()
          const { id } = yield* previews.create(accountId, sandboxId, { ...requestIdentity, port: 80 })
          const get = (host: string) =>
            Effect.promise(async () => {
              const url = `http://127.0.0.1:${port}/me`
              const [answer] = await once(request(url, { headers: { host }, agent: false }).end(), "response")
              let text = ""
              for await (const chunk of answer) text += chunk
              return text
            })
          assert.strictEqual(yield* get("localhost"), "the API")
          assert.strictEqual(yield* get(`${id}.preview.localhost`), "the preview")
          const socket = new WebSocket(`ws://127.0.0.1:${port}/`, { headers: { host: `${id}.preview.localhost` } })
          socket.on("error", () => {})
          yield* Effect.promise(() => once(socket, "open"))
          gone = once(socket, "close")
          stoppingAt = performance.now()
        }).pipe(
          Effect.provide(api.pipe(Layer.provideMerge(Listener.layer), Layer.provide(testSettings({ ATOLL_PORT: "0" }))))
        )
        assert.isBelow(performance.now() - stoppingAt, 15_000)
        yield* Effect.promise(() => gone)
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
