/** A host of an older version, which does not know the calls for snapshots. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { serveHost } from "../../../../src/host/ingress/serveHost.ts"
import { simulatedRuntime } from "../../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { PeerSockets } from "../../../../src/peer/PeerSockets.ts"
import { distantRuntime } from "../../../../src/runtime/distant/distantRuntime.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { describedBy, hostId, peers } from "../../../support/runtime/distant/TestDistant.ts"

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
