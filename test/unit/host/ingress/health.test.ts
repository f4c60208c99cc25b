/** The health port of a host, for well-behaved clients and others. */
import { once } from "node:events"
import { type AddressInfo, connect, type Socket } from "node:net"
import { assert, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { HostHealth } from "../../../../src/app/HostHealth.ts"
import { Joining } from "../../../../src/host/ingress/Joining.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { testSettings } from "../../../support/TestSettings.ts"

it.live("the health port gives a few connections to clients that hold them, and answers once they are gone", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const joining = Joining.of({
      standing: () => ({ service: "service-1:7070", fault: null }),
      forbidden: Effect.never
    })
    const context = yield* Layer.build(
      HostHealth.layer.pipe(
        Layer.provide(Layer.succeed(Joining, joining)),
        Layer.provide(Layer.succeed(Runtime, simulatedRuntime(world))),
        Layer.provide(testSettings({ ATOLL_PORT: "0" }))
      )
    )
    const { port } = Context.get(context, HttpServer.HttpServer).address as unknown as AddressInfo
    yield* Effect.promise(async () => {
      const held: Array<Socket> = []
      let cut = 0
      for (let i = 0; i < 200; i++) {
        const socket = connect(port, "127.0.0.1")
        socket.on("error", () => {}).once("close", () => cut++)
        held.push(socket)
      }
      const patience = performance.now() + 60_000
      while (cut < 136 && performance.now() < patience) await new Promise((resolve) => setTimeout(resolve, 20))
      assert.isAtLeast(cut, 136)
      for (const socket of held) socket.destroy()
      await Promise.all(held.map((socket) => socket.closed || once(socket, "close")))
      // They are gone here; the server notices it next.
      let answer: Response | null = null
      while (answer === null && performance.now() < patience) {
        answer = await fetch(`http://127.0.0.1:${port}/healthz`, { headers: { connection: "close" } }).catch(() => null)
      }
      assert.strictEqual(answer?.status, 200)
      assert.deepInclude(await answer!.json(), { status: "ok", service: "service-1:7070" })
    })
  }).pipe(Effect.scoped)
)
