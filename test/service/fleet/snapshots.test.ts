/** Snapshots in a fleet: they stay on their host, and so do the Sandboxes that start from them. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { FleetPlacement } from "../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../src/fleet/FleetRuntime.ts"
import { HostFeeds } from "../../../src/fleet/HostFeeds.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { Runtime, RuntimeRefused, type SandboxSpec } from "../../../src/runtime/Runtime.ts"
import { Placement } from "../../../src/sandbox/Placement.ts"
import { fresh as emptied } from "../../support/fleet/fresh.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { WorldFleet } from "./WorldFleet.ts"

const size = { vcpus: 1, memoryBytes: 2 ** 28, networkEnabled: false }

const spec = (sandboxId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  ...{ sandboxId, generation: 1, volumeBytes: 2 ** 26, ...size },
  ...changes
})

const placed = (sandboxId: string, hostId: string | null = null) =>
  Effect.flatMap(Placement, (placement) =>
    placement.place({ sandboxId, runtime: "namespace", diskBytes: 2 ** 26, hostId, ...size })
  )

const fresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* emptied
  yield* sql`delete from actors where kind = 'snapshot'`
  return new WorldFleet()
})

/** The fleet's runtime and placement alone, without actors. */
const callsOf = (fleet: WorldFleet) =>
  Layer.mergeAll(FleetRuntime.layer, FleetPlacement.layer).pipe(
    Layer.provide(Reservations.layer),
    Layer.provide(fleet.links),
    Layer.provide(
      Layer.succeed(HostFeeds, { supervised: Effect.succeed([...fleet.worlds.keys()]), console: Stream.never })
    ),
    Layer.provide(testSettings({ ATOLL_BOOT_TIMEOUT_MS: "10000" }))
  )

const actor = Effect.fnUntraced(function* (id: string, kind: string, context: Readonly<Record<string, string>>) {
  const sql = yield* SqlClient.SqlClient
  const snapshot = JSON.stringify({ value: "ready", context })
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    values (${id}, ${kind}, '', '', 1, 1, '{}', ${snapshot}::text::jsonb, 0)`
})

layer(TestDatabase.layer, { excludeTestServices: true })("snapshots in a fleet", (it) => {
  it.effect("are taken and removed on the Sandbox's host, which the answer names; a removed host has none", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", "host_b")
        yield* runtime.provision(spec("source"))
        assert.deepInclude(yield* runtime.snapshots.capture("snap", "source"), { hostId: "host_b" })
        assert.isTrue(fleet.worlds.get("host_b")!.snapshots.has("snap"))
        assert.isFalse(fleet.worlds.get("host_a")!.snapshots.has("snap"))
        assert.deepInclude(yield* Effect.flip(runtime.snapshots.capture("none", "nowhere")), { code: "VOLUME_MISSING" })

        fleet.cut.add("host_b")
        assert.deepInclude(yield* Effect.flip(runtime.snapshots.remove("snap", "host_b")), {
          _tag: "RuntimeUnavailable"
        })
        fleet.cut.delete("host_b")
        yield* runtime.snapshots.remove("snap", "host_b")
        assert.isFalse(fleet.worlds.get("host_b")!.snapshots.has("snap"))

        fleet.cut.add("host_b")
        yield* fleet.becomes("host_b", "gone")
        yield* runtime.snapshots.remove("snap", "host_b")
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )

  it.effect("give their Sandboxes a place on their host only, and none while it is full or draining", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b", vcpus: 4 })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", "host_b")
        yield* runtime.provision(spec("source"))
        yield* runtime.snapshots.capture("snap", "source")
        for (const id of ["one", "two"]) assert.deepInclude(yield* placed(id, "host_b"), { hostId: "host_b" })
        yield* runtime.provision(spec("one", { snapshotId: "snap" }))
        assert.deepStrictEqual(fleet.worlds.get("host_b")!.origins.get("one"), "snap")

        yield* fleet.becomes("host_b", "cordoned")
        assert.deepInclude(yield* placed("three", "host_b"), { hostId: null })
        // The one that has its place is booted.
        yield* runtime.provision(spec("two", { snapshotId: "snap" }))
        assert.deepStrictEqual(fleet.aliveOn("two"), ["host_b"])

        yield* fleet.becomes("host_b", "ready")
        assert.deepInclude(yield* placed("three", "host_b"), { hostId: "host_b" })
        assert.deepInclude(yield* placed("four", "host_b"), { hostId: null })
        // Without a place its first boot looks for one, on the snapshot's host.
        yield* actor("four", "sandbox", { runtime: "namespace" })
        const boot = runtime.provision(spec("four", { snapshotId: "snap" }))
        assert.deepInclude(yield* Effect.flip(boot), { _tag: "RuntimeRefused", code: "HOST_FULL" })
        yield* actor("snap", "snapshot", { hostId: "host_b" })
        assert.deepInclude(yield* Effect.flip(boot), { _tag: "RuntimeRefused", code: "HOST_FULL" })
        yield* runtime.destroy("three")
        yield* boot
        assert.deepStrictEqual(fleet.aliveOn("four"), ["host_b"])
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )

  it.effect("keep their Sandboxes from a move when their host refuses the first boot", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", "host_b")
        yield* runtime.provision(spec("source"))
        yield* runtime.snapshots.capture("snap", "source")
        yield* placed("child", "host_b")
        fleet.worlds.get("host_b")!.intercept = (call) =>
          call === "provision"
            ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
            : Effect.void
        const child = runtime.provision(spec("child", { snapshotId: "snap" }))
        assert.deepInclude(yield* Effect.flip(child), { _tag: "RuntimeRefused", code: "HOST_FULL" })
        assert.deepStrictEqual(fleet.aliveOn("child"), [])
        fleet.worlds.get("host_b")!.intercept = () => Effect.void
        yield* child
        assert.deepStrictEqual(fleet.aliveOn("child"), ["host_b"])
        yield* runtime.snapshots.remove("snap", "host_b")
        yield* placed("late", "host_b")
        const late = runtime.provision(spec("late", { snapshotId: "snap" }))
        assert.deepInclude(yield* Effect.flip(late), { _tag: "RuntimeRefused", code: "SNAPSHOT_MISSING" })
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )
})
