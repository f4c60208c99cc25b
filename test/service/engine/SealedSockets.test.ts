import { once } from "node:events"
import { type AddressInfo, connect, createServer, type Socket } from "node:net"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, Scope } from "effect"
import { RunnerAddress, ShardingConfig } from "effect/cluster"
import { ActorSockets } from "../../../src/engine/ActorSockets.ts"
import { SealedSockets } from "../../../src/engine/SealedSockets.ts"
import { freePort } from "../../support/freePort.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"

it.live("the port of actor messages closes while a client holds a silent connection", () =>
  Effect.gen(function* () {
    const port = yield* Effect.promise(freePort)
    const scope = yield* Scope.make()
    const config = ShardingConfig.layer({ runnerAddress: Option.some(RunnerAddress.make("127.0.0.1", port)) })
    yield* Layer.buildWithScope(
      SealedSockets.layerServer.pipe(Layer.provide([SealedSockets.layer, config]), Layer.provide(testSettings())),
      scope
    )
    const silent = yield* Effect.acquireRelease(
      Effect.promise(async () => {
        const socket = connect(port, "127.0.0.1")
        socket.on("error", () => {})
        await once(socket, "connect")
        return socket
      }),
      (socket) => Effect.sync(() => socket.destroy())
    )
    const cut = once(silent, "close")
    const closing = yield* Effect.forkChild(Scope.close(scope, Exit.void))
    const ended = yield* Effect.timeoutOption(
      Effect.promise(() => cut),
      "20 seconds"
    )
    assert.isTrue(Option.isSome(ended), "the connection was cut")
    yield* Fiber.join(closing)
  }).pipe(Effect.provide(TestDatabase.layer))
)

it.live("a connection to a frozen process is given up, as it accepts and never answers", () =>
  Effect.gen(function* () {
    const accepted: Array<Socket> = []
    const frozen = createServer((socket) => accepted.push(socket.on("error", () => {})))
    yield* Effect.acquireRelease(
      Effect.promise(() => once(frozen.listen(0, "127.0.0.1"), "listening")),
      () =>
        Effect.sync(() => {
          for (const socket of accepted) socket.destroy()
          frozen.close()
        })
    )
    const { port } = frozen.address() as AddressInfo
    const { open } = yield* ActorSockets
    const opening = yield* Effect.forkDetach(
      Effect.exit(Effect.timeout(Effect.scoped(open({ host: "127.0.0.1", port })), "100 millis"))
    )
    const ended = yield* Effect.timeoutOption(Fiber.await(opening), "5 seconds")
    assert.isTrue(Option.isSome(ended), "it ends within its time")
    assert.isTrue(Exit.isFailure(yield* Fiber.join(opening)))
  }).pipe(
    Effect.provide(SealedSockets.layer.pipe(Layer.provide(testSettings()), Layer.provideMerge(TestDatabase.layer)))
  )
)
