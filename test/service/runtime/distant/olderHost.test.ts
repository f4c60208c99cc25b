/** A host of an older version, which does not know the calls for snapshots and images; and those calls. */
import { assert, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { serveHost } from "../../../../src/host/ingress/serveHost.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { describedBy, hostId, peers, served } from "../../../support/runtime/distant/TestDistant.ts"

it.live("a host of a version without memory in snapshots is asked for none with it", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    world.keepsMemory = true
    const near = simulatedRuntime(world)
    const sockets = yield* PeerSockets
    const { keepsMemory: _, ...older } = describedBy(near)
    const doors = yield* serveHost({ runtime: near, hostId, describe: Effect.succeed(older) })
    const { port } = yield* sockets.listen({ host: "127.0.0.1", port: 0 }, doors)
    const host = yield* distantRuntime(hostId, { host: "127.0.0.1", port })
    yield* host.provision(sandboxSpec("source"))
    assert.isFalse(host.capabilities.memorySnapshots)
    assert.deepInclude(yield* Effect.flip(host.snapshots.capture("snap", "source", true)), {
      _tag: "RuntimeUnsupported"
    })
    assert.deepInclude(yield* host.snapshots.capture("snap", "source"), { hostId })
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host of an older version is asked for no snapshot, and boots no Sandbox from one with an empty volume", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const near = simulatedRuntime(world)
    const sockets = yield* PeerSockets
    const { takesSnapshots: _, ...older } = describedBy(near)
    const doors = yield* serveHost({ runtime: near, hostId, describe: Effect.succeed(older) })
    const { port } = yield* sockets.listen({ host: "127.0.0.1", port: 0 }, doors)
    const host = yield* distantRuntime(hostId, { host: "127.0.0.1", port })
    yield* host.provision(sandboxSpec("source"))
    assert.deepInclude(yield* Effect.flip(host.snapshots.capture("snap", "source")), { _tag: "RuntimeUnsupported" })
    assert.deepInclude(yield* Effect.flip(host.snapshots.remove("snap", null)), { _tag: "RuntimeUnavailable" })
    assert.deepInclude(yield* Effect.flip(host.snapshots.inventory), { _tag: "RuntimeUnavailable" })
    const child = yield* Effect.flip(host.provision(sandboxSpec("child", { snapshotId: "snap" })))
    assert.include(child.message, "older version")
    assert.deepStrictEqual([...world.volumes], ["source"])
    assert.strictEqual(world.snapshots.size, 0)
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host of an older version is asked for no image, and boots no Sandbox from one with its own root", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const near = simulatedRuntime(world)
    const sockets = yield* PeerSockets
    const { runsImages: _, ...older } = describedBy(near)
    const doors = yield* serveHost({ runtime: near, hostId, describe: Effect.succeed(older) })
    const { port } = yield* sockets.listen({ host: "127.0.0.1", port: 0 }, doors)
    const host = yield* distantRuntime(hostId, { host: "127.0.0.1", port })
    const image = { reference: "registry.test/tools:1", digest: `sha256:${"a".repeat(64)}`, credentials: null }
    for (const refused of [host.images.pull(image), host.provision(sandboxSpec("one", { image }))]) {
      assert.deepInclude(yield* Effect.flip(refused), { _tag: "RuntimeRefused", code: "IMAGE_UNSUPPORTED" })
    }
    yield* host.images.remove(image.digest)
    assert.deepStrictEqual(yield* host.images.inventory, [])
    assert.deepStrictEqual([...world.volumes, ...world.images], [])
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live(
  "a host of an older version boots no Sandbox that is to build a Dockerfile, which it would boot as an ordinary one",
  () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const near = simulatedRuntime(world)
      const sockets = yield* PeerSockets
      const { buildsImages: _, ...older } = describedBy(near)
      const doors = yield* serveHost({ runtime: near, hostId, describe: Effect.succeed(older) })
      const { port } = yield* sockets.listen({ host: "127.0.0.1", port: 0 }, doors)
      const host = yield* distantRuntime(hostId, { host: "127.0.0.1", port })
      const refusal = yield* Effect.flip(host.provision(sandboxSpec("one", { builder: true })))
      assert.deepInclude(refusal, { _tag: "RuntimeRefused", code: "IMAGE_UNSUPPORTED" })
      assert.strictEqual(yield* host.images.buildObstacle, refusal.message)
      assert.deepStrictEqual([...world.volumes], [])
    }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host learns that a Sandbox is to build a Dockerfile", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const host = yield* distantRuntime(hostId, yield* served(simulatedRuntime(world)))
    assert.isNull(yield* host.images.buildObstacle)
    yield* host.provision(sandboxSpec("one", { builder: true }))
    assert.isTrue(world.machines.get("one")?.spec.builder)
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host gets an image's reference, digest, name and password, and answers what it has", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const host = yield* distantRuntime(hostId, yield* served(simulatedRuntime(world)))
    const credentials = { username: "robot", password: Redacted.make("secret") }
    const source = { reference: "registry.test/private:1", digest: null, credentials }
    const unauthorized = yield* Effect.flip(host.images.pull({ ...source, credentials: null }))
    assert.deepInclude(unauthorized, { code: "IMAGE_UNAUTHORIZED" })
    const { digest, config } = yield* host.images.pull(source)
    assert.deepInclude(config, { workingDir: "/app" })
    assert.deepStrictEqual(yield* host.images.inventory, [digest])
    yield* host.images.remove(digest)
    yield* host.provision(sandboxSpec("one", { image: { ...source, digest } }))
    const { image } = world.machines.get("one")!.spec
    assert.strictEqual(Redacted.value(image!.credentials!.password), "secret")
    assert.deepInclude(image, { reference: source.reference, digest })
  }).pipe(Effect.scoped, Effect.provide(peers))
)

it.live("a host of a version that carries no content of snapshots is asked for none", () =>
  Effect.gen(function* () {
    const world = yield* SimulatedWorld.make
    const near = simulatedRuntime(world)
    const sockets = yield* PeerSockets
    const { movesSnapshots: _, ...older } = describedBy(near)
    const doors = yield* serveHost({ runtime: near, hostId, describe: Effect.succeed(older) })
    const { port } = yield* sockets.listen({ host: "127.0.0.1", port: 0 }, doors)
    const { snapshots } = yield* distantRuntime(hostId, { host: "127.0.0.1", port })
    world.snapshots.set("snap", "source")
    const image = yield* near.snapshots.read("snap", null)
    const unsupported = { _tag: "RuntimeUnsupported" } as const
    assert.deepInclude(yield* Effect.flip(snapshots.read("snap", hostId)), unsupported)
    assert.deepInclude(yield* Effect.flip(snapshots.receive("copy", image, "namespace")), unsupported)
    assert.deepInclude(yield* Effect.flip(snapshots.accept("copy", hostId)), unsupported)
    assert.strictEqual(world.imported.size, 0)
  }).pipe(Effect.scoped, Effect.provide(peers))
)
