/** Archives of images, and images, between a service and a host on another machine. */
import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { publicText } from "../../../../schemas/PublicText.ts"
import { serveHost } from "../../../../src/host/ingress/serveHost.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import { RuntimeRefused } from "../../../../src/runtime/Runtime.ts"
import { Link } from "../../../support/runtime/distant/Link.ts"
import { describedBy, hostId, peers, served } from "../../../support/runtime/distant/TestDistant.ts"
import { until } from "../../../support/until.ts"

const MiB = 1024 ** 2

async function* archive(count: number, fault: Error | null = null): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < count; index++) yield Buffer.alloc(MiB * 1.5, `piece ${index}`)
  if (fault !== null) throw fault
}

const far = Effect.gen(function* () {
  const world = yield* SimulatedWorld.make
  const near = simulatedRuntime(world)
  const link = yield* Link.to((yield* served(near)).port)
  const { images } = yield* distantRuntime(hostId, { host: "127.0.0.1", port: link.port })
  return { world, near, link, images }
})

it.live("an archive arrives whole, and becomes the same image as on a host of the service's own", () =>
  Effect.gen(function* () {
    const { world, images } = yield* far
    yield* images.receive("img_one", archive(9))
    const own = simulatedRuntime(yield* SimulatedWorld.make).images
    yield* own.receive("img_one", archive(9))
    const { digest } = yield* images.accept("img_one")
    assert.strictEqual(digest, (yield* own.accept("img_one")).digest)
    assert.deepStrictEqual(yield* images.inventory, [digest])
    world.uploads.set("img_old", { digest, at: 0 })
    assert.deepStrictEqual(yield* images.uploads, ["img_old"])
    yield* images.discard("img_old")
    assert.deepStrictEqual(yield* images.uploads, [])
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("an archive that breaks off leaves nothing on the host", () =>
  Effect.gen(function* () {
    const { world, images } = yield* far
    const broken = yield* Effect.flip(images.receive("img_one", archive(9, new Error("The client is gone."))))
    assert.deepInclude(broken, { _tag: "RuntimeUnavailable" })
    assert.strictEqual(world.uploads.size, 0)
    assert.deepInclude(yield* Effect.flip(images.accept("img_one")), { code: "IMAGE_NOT_FOUND" })
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host that refuses an archive is sent nothing of it, and its refusal is the service's", () =>
  Effect.gen(function* () {
    const { world, images } = yield* far
    world.intercept = () => Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))
    let isRead = false
    async function* unread(): AsyncGenerator<Uint8Array> {
      isRead = true
      yield Buffer.from("an archive")
    }
    assert.deepInclude(yield* Effect.flip(images.receive("img_one", unread())), { code: "IMAGE_NO_ROOM" })
    assert.isFalse(isRead)
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("an image goes from one host to another one, which needs it once", () =>
  Effect.gen(function* () {
    const [one, two] = [yield* far, yield* far]
    yield* one.images.receive("img_one", archive(1))
    const { digest } = yield* one.images.accept("img_one")
    yield* two.images.store(digest, yield* one.images.read(digest))
    assert.deepStrictEqual([...two.world.images], [digest])
    one.world.images.clear()
    // It is there: nothing is read.
    yield* two.images.store(digest, yield* one.images.read(digest))
    two.world.images.clear()
    const fault = yield* Effect.flip(two.images.store(digest, yield* one.images.read(digest)))
    assert.deepInclude(fault, { _tag: "RuntimeUnavailable" })
    assert.strictEqual(two.world.images.size, 0)
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a transfer whose host dies ends with an error", () =>
  Effect.gen(function* () {
    const { link, images } = yield* far
    let sent = 0
    async function* endless(): AsyncGenerator<Uint8Array> {
      while (true) {
        sent++
        yield Buffer.alloc(MiB)
      }
    }
    const receiving = yield* Effect.forkChild(Effect.flip(images.receive("img_one", endless())))
    yield* until(
      Effect.sync(() => sent),
      (count) => count > 4
    )
    link.cut()
    assert.deepInclude(yield* Fiber.join(receiving), { _tag: "RuntimeUnavailable" })
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host of a version that moves no images is asked for none", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const near = simulatedRuntime(world)
    const sockets = yield* PeerSockets
    const { movesImages: _, ...older } = describedBy(near)
    const doors = yield* serveHost({ runtime: near, hostId, describe: Effect.succeed(older) })
    const { port } = yield* sockets.listen({ host: "127.0.0.1", port: 0 }, doors)
    const { images } = yield* distantRuntime(hostId, { host: "127.0.0.1", port })
    const digest = `sha256:${"a".repeat(64)}`
    const refused = { code: "IMAGE_UNSUPPORTED" } as const
    assert.deepInclude(yield* Effect.flip(images.receive("img_one", archive(1))), refused)
    assert.deepInclude(yield* Effect.flip(images.accept("img_one")), refused)
    assert.deepInclude(yield* Effect.flip(images.store(digest, archive(1))), refused)
    assert.deepStrictEqual(yield* images.uploads, [])
    yield* images.discard("img_one")
    assert.strictEqual(world.uploads.size, 0)
  }).pipe(Effect.scoped, Effect.provide(peers))
)
