/** Snapshots in a fleet: on which hosts they and the Sandboxes from them are, and how their images travel. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { removeHost } from "../../../src/fleet/askHost.ts"
import { FleetCopies } from "../../../src/fleet/FleetCopies.ts"
import { FleetPlacement } from "../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../src/fleet/FleetRuntime.ts"
import { HostFeeds } from "../../../src/fleet/HostFeeds.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { leaveHost } from "../../../src/fleet/leaveHost.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { snapshotCopyStatements } from "../../../src/fleet/snapshotCopyStatements.ts"
import { Runtime, RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../../../src/runtime/Runtime.ts"
import { Placement, type Wanted } from "../../../src/sandbox/Placement.ts"
import { fresh as emptied } from "../../support/fleet/fresh.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { WorldFleet } from "./WorldFleet.ts"

const size = { vcpus: 1, memoryBytes: 2 ** 28, networkEnabled: false }

const spec = (sandboxId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  ...{ sandboxId, generation: 1, volumeBytes: 2 ** 26, ...size },
  ...changes
})

const placed = (sandboxId: string, wanted: Partial<Wanted> = {}) =>
  Effect.flatMap(Placement, (placement) =>
    placement.place({
      sandboxId,
      runtime: "namespace",
      diskBytes: 2 ** 26,
      isBound: wanted.snapshotId === undefined,
      ...wanted,
      ...size
    })
  )

const fresh = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* emptied
  yield* sql`delete from actors where kind = 'snapshot'`
  yield* sql`delete from snapshot_copies`
  return new WorldFleet()
})

/** The fleet's runtime and placement alone, without actors. */
const callsOf = (fleet: WorldFleet) =>
  Layer.mergeAll(FleetRuntime.layer, FleetPlacement.layer, Hosts.layer).pipe(
    Layer.provideMerge(FleetCopies.layer),
    Layer.provideMerge(Reservations.layer),
    Layer.provide(fleet.links),
    Layer.provide(
      Layer.succeed(HostFeeds, { supervised: Effect.succeed([...fleet.worlds.keys()]), console: Stream.never })
    ),
    Layer.provide(testSettings({ ATOLL_BOOT_TIMEOUT_MS: "10000" }))
  )

/** How many snapshots no host took, and how many have a copy now. */
const leaving = Effect.map(
  leaveHost,
  (leave) => (hostId: string, goesOn: boolean) =>
    Effect.map(
      leave(hostId, () => goesOn),
      (kinds) => {
        const { stayed, left } = kinds.find(({ name }) => name === "snapshots")!
        return { stayed, left }
      }
    )
)

const actor = Effect.fnUntraced(function* (
  id: string,
  kind: string,
  context: Readonly<Record<string, string>>,
  createdAt = 0
) {
  const sql = yield* SqlClient.SqlClient
  const snapshot = JSON.stringify({ value: "ready", context })
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    values (${id}, ${kind}, '', '', 1, 1, '{}', ${snapshot}::text::jsonb, ${BigInt(createdAt)})`
})

layer(TestDatabase.layer, { excludeTestServices: true })("snapshots in a fleet", (it) => {
  it.effect("are taken and removed on the Sandbox's host, which the answer names; a removed host has none", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", { hostId: "host_b" })
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

  it.effect(
    "give their Sandboxes a place on their host, and on another one of their kind while it is full or draining",
    () =>
      Effect.gen(function* () {
        const fleet = yield* fresh
        yield* fleet.add({ id: "host_a" })
        yield* fleet.add({ id: "host_b", vcpus: 3 })
        yield* fleet.add({ id: "host_vm", kind: "vm" })
        yield* Effect.gen(function* () {
          const runtime = yield* Runtime
          yield* placed("source", { hostId: "host_b" })
          yield* runtime.provision(spec("source"))
          yield* runtime.snapshots.capture("snap", "source")
          yield* actor("snap", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "false" })
          const ofSnap = { snapshotId: "snap", hostId: "host_b" }
          for (const id of ["one", "two"]) assert.deepInclude(yield* placed(id, ofSnap), { hostId: "host_b" })
          yield* runtime.provision(spec("one", { snapshotId: "snap" }))
          assert.strictEqual(fleet.worlds.get("host_b")!.origins.get("one"), "snap")
          assert.isFalse(fleet.worlds.get("host_a")!.snapshots.has("snap"))

          // It is full.
          assert.deepInclude(yield* placed("three", ofSnap), { hostId: "host_a" })
          yield* Effect.all([runtime.provision(spec("three", { snapshotId: "snap" })), placed("four", ofSnap)], {
            concurrency: "unbounded"
          })
          assert.strictEqual(fleet.worlds.get("host_a")!.origins.get("three"), "snap")
          const [piece] = fleet.worlds.get("host_a")!.imported.get("snap")!
          assert.strictEqual(Buffer.from(piece!.bytes.subarray(0, 6)).toString(), "source")

          // A copy serves while the snapshot's own host is away.
          yield* fleet.becomes("host_b", "draining")
          fleet.cut.add("host_b")
          yield* runtime.provision(spec("four", { snapshotId: "snap" }))
          assert.deepStrictEqual(fleet.aliveOn("four"), ["host_a"])
          fleet.cut.delete("host_b")

          // One whose host refuses the first boot goes elsewhere, where the image is.
          fleet.worlds.get("host_b")!.intercept = (call) =>
            call === "provision"
              ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
              : Effect.void
          yield* actor("two", "sandbox", { runtime: "namespace" })
          yield* runtime.provision(spec("two", { snapshotId: "snap" }))
          assert.deepStrictEqual(fleet.aliveOn("two"), ["host_a"])

          // Without a place its first boot looks for one.
          yield* fleet.becomes("host_a", "cordoned")
          assert.deepInclude(yield* placed("five", ofSnap), { hostId: null })
          yield* actor("five", "sandbox", { runtime: "namespace" })
          const five = runtime.provision(spec("five", { snapshotId: "snap" }))
          assert.deepInclude(yield* Effect.flip(five), { _tag: "RuntimeRefused", code: "HOST_FULL" })
          yield* fleet.becomes("host_a", "ready")
          yield* five
          assert.strictEqual(fleet.worlds.get("host_a")!.origins.get("five"), "snap")

          yield* runtime.snapshots.remove("snap", "host_b")
          for (const { snapshots } of fleet.worlds.values()) assert.isFalse(snapshots.has("snap"))
          const sql = yield* SqlClient.SqlClient
          assert.deepStrictEqual(yield* sql`select 1 from snapshot_copies`, [])
        }).pipe(Effect.provide(callsOf(fleet)))
      })
  )

  it.effect("with memory keep their Sandboxes on their host", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b", vcpus: 1 })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", { hostId: "host_b" })
        yield* runtime.provision(spec("source"))
        yield* runtime.snapshots.capture("snap", "source")
        yield* actor("snap", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "true" })
        assert.deepInclude(yield* placed("child", { snapshotId: "snap", hostId: "host_b", isBound: true }), {
          hostId: null
        })
        yield* actor("child", "sandbox", { runtime: "namespace" })
        const child = runtime.provision(spec("child", { snapshotId: "snap" }))
        assert.deepInclude(yield* Effect.flip(child), { _tag: "RuntimeRefused", code: "HOST_FULL" })
        yield* runtime.destroy("source")
        yield* child
        assert.deepStrictEqual(fleet.aliveOn("child"), ["host_b"])
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )

  it.effect("travel again where the transfer breaks, and leave nothing where it fails", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", { hostId: "host_b" })
        yield* runtime.provision(spec("source"))
        yield* runtime.snapshots.capture("snap", "source")
        yield* actor("snap", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "false" })
        yield* fleet.becomes("host_b", "cordoned")
        const broken = new RuntimeUnavailable({ message: "The connection broke." })
        let breaks = 2
        const there = fleet.worlds.get("host_a")!
        there.intercept = (call) => (call === "receive" && breaks-- > 0 ? Effect.fail(broken) : Effect.void)
        yield* placed("one", { snapshotId: "snap", hostId: "host_b" })
        yield* runtime.provision(spec("one", { snapshotId: "snap" }))
        assert.strictEqual(there.origins.get("one"), "snap")

        // A copy that the host has no more is forgotten, but none that may be newer than the host's list.
        const copies = yield* snapshotCopyStatements
        const known = Effect.map(copies.places("snap"), (places) => places!.copies)
        yield* copies.keepOnly("host_a", [])
        assert.deepStrictEqual(yield* known, ["host_a"])
        const sql = yield* SqlClient.SqlClient
        yield* sql`update snapshot_copies set made_at = 0`
        yield* copies.keepOnly("host_a", ["snap"])
        assert.deepStrictEqual(yield* known, ["host_a"])
        yield* copies.keepOnly("host_a", [])
        assert.deepStrictEqual(yield* known, [])

        // Its only host refuses it: its Sandbox has nowhere to go.
        yield* actor("other", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "false" })
        yield* runtime.snapshots.capture("other", "source")
        there.intercept = (call) =>
          call === "receive"
            ? Effect.fail(new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` }))
            : Effect.void
        yield* placed("two", { snapshotId: "other", hostId: "host_b" })
        yield* actor("two", "sandbox", { runtime: "namespace" })
        const two = runtime.provision(spec("two", { snapshotId: "other" }))
        assert.deepInclude(yield* Effect.flip(two), { _tag: "RuntimeRefused", code: "HOST_FULL" })
        assert.isFalse(there.imported.has("other"))
        there.intercept = () => Effect.void
        yield* fleet.becomes("host_b", "gone")
        assert.deepInclude(yield* Effect.flip(two), { _tag: "RuntimeRefused", code: "SNAPSHOT_MISSING" })
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )

  it.effect("are lost with their host, whose removal says so and needs force", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_b" }, "lost")
      yield* actor("snap", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "false" })
      const removal = yield* Effect.gen(function* () {
        const host = yield* (yield* Hosts).find("host_b")
        return yield* Effect.flip(removeHost(host!, false))
      }).pipe(Effect.provide(Hosts.layer))
      assert.deepInclude(removal, { _tag: "HostRefused", why: "used" })
      assert.include(removal.message, "host_b has 1 snapshot, which is lost with it")
    })
  )

  it.effect("leave a host that is drained, oldest first, for hosts with room, and are read from there", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      yield* fleet.add({ id: "host_c" })
      yield* fleet.add({ id: "host_vm", kind: "vm" })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        const left = yield* leaving
        const hosts = yield* Hosts
        yield* placed("source", { hostId: "host_b" })
        yield* runtime.provision(spec("source"))
        const names = ["first", "second", "third", "bound"]
        for (const [createdAt, id] of names.entries()) {
          yield* runtime.snapshots.capture(id, "source")
          yield* actor(
            id,
            "snapshot",
            { hostId: "host_b", runtime: "namespace", memory: String(id === "bound") },
            createdAt
          )
        }
        for (const id of ["host_b", "host_c"]) yield* fleet.becomes(id, "draining")
        assert.deepStrictEqual(yield* hosts.snapshotsOn("host_b"), { onlyHere: 4, bound: 1 })
        assert.deepInclude(yield* hosts.find("host_b"), { snapshotsOnlyHere: 4, snapshotsBound: 1 })
        assert.deepInclude(yield* hosts.find("host_a"), { snapshotsOnlyHere: null, snapshotsBound: null })

        // The second one is refused, and a break is begun again.
        const received: Array<string> = []
        const there = fleet.worlds.get("host_a")!
        const broken = new RuntimeUnavailable({ message: "The connection broke." })
        const full = new RuntimeRefused({ code: "HOST_FULL", message: publicText`No room.` })
        there.intercept = (call, id) => {
          if (call !== "receive") return Effect.void
          received.push(id)
          if (id === "second") return Effect.fail(full)
          return received.filter((other) => other === "first").length === 1 ? Effect.fail(broken) : Effect.void
        }
        assert.deepStrictEqual(yield* left("host_b", true), { stayed: 1, left: 2 })
        assert.deepStrictEqual(received, ["first", "first", "second", "third"])
        assert.deepStrictEqual(yield* hosts.snapshotsOn("host_b"), { onlyHere: 2, bound: 1 })
        yield* runtime.destroy("source")
        const refused = Effect.flatMap(hosts.find("host_b"), (host) => Effect.flip(removeHost(host!, false)))
        assert.include((yield* refused).message, "2 snapshots, which are lost with it, 1 of them with memory")

        there.intercept = () => Effect.void
        assert.deepStrictEqual(yield* left("host_b", false), { stayed: 0, left: 0 })
        assert.deepStrictEqual(yield* left("host_b", true), { stayed: 0, left: 1 })
        assert.deepStrictEqual(yield* hosts.snapshotsOn("host_b"), { onlyHere: 1, bound: 1 })
        assert.deepStrictEqual([...there.snapshots.keys()], ["first", "third", "second"])
        assert.deepStrictEqual([...fleet.worlds.get("host_c")!.snapshots.keys()], [])

        // An export reads the copy while the snapshot's own host is away.
        fleet.cut.add("host_b")
        const image = yield* runtime.snapshots.read("second", "host_b")
        const pieces = yield* Stream.runCollect(Stream.fromAsyncIterable(image.pieces, String))
        assert.strictEqual(Buffer.from(pieces[0]!.bytes.subarray(0, 6)).toString(), "source")
        assert.deepInclude(yield* Effect.flip(runtime.snapshots.read("bound", "host_b")), {
          _tag: "RuntimeUnavailable"
        })

        // A copy on a host that is drained, too, is not counted: it leaves both.
        yield* fleet.becomes("host_a", "draining")
        assert.deepStrictEqual(yield* hosts.snapshotsOn("host_a"), { onlyHere: 3, bound: 0 })
        assert.deepStrictEqual(yield* left("host_a", true), { stayed: 3, left: 0 })
        yield* fleet.becomes("host_c", "ready")
        assert.deepStrictEqual(yield* left("host_a", true), { stayed: 0, left: 3 })
        assert.strictEqual(fleet.worlds.get("host_c")!.snapshots.size, 3)
        assert.deepStrictEqual(yield* hosts.snapshotsOn("host_a"), { onlyHere: 0, bound: 0 })
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )

  it.effect("that are deleted while they travel leave nothing", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" }, "draining")
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const runtime = yield* Runtime
        const left = yield* leaving
        const { snapshots } = fleet.worlds.get("host_b")!
        snapshots.set("snap", "source")
        yield* actor("snap", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "false" })
        const there = fleet.worlds.get("host_a")!
        const deleted = runtime.snapshots.remove("snap", "host_b").pipe(Effect.ignore)
        there.intercept = (call) => {
          if (call !== "accept") return Effect.void
          there.intercept = () => Effect.void
          return deleted.pipe(Effect.andThen(Effect.sync(() => there.imported.set("snap", []))))
        }
        assert.deepStrictEqual(yield* left("host_b", true), { stayed: 1, left: 0 })
        assert.strictEqual(there.snapshots.size, 0)
        assert.deepStrictEqual(yield* sql`select 1 from snapshot_copies`, [])
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )

  it.effect("travel to the host of the Sandbox that is rolled back", () =>
    Effect.gen(function* () {
      const fleet = yield* fresh
      yield* fleet.add({ id: "host_a" })
      yield* fleet.add({ id: "host_b" })
      yield* Effect.gen(function* () {
        const runtime = yield* Runtime
        yield* placed("source", { hostId: "host_b" })
        yield* runtime.provision(spec("source"))
        yield* runtime.snapshots.capture("snap", "source")
        yield* actor("snap", "snapshot", { hostId: "host_b", runtime: "namespace", memory: "false" })
        yield* placed("other", { hostId: "host_a" })
        yield* runtime.provision(spec("other"))
        yield* runtime.stop("other", 1)
        fleet.cut.add("host_b")
        const restore = runtime.snapshots.restore("snap", "other", 1)
        assert.deepInclude(yield* Effect.flip(restore), { _tag: "RuntimeRefused", code: "SNAPSHOT_MISSING" })
        fleet.cut.delete("host_b")
        yield* restore
        assert.deepStrictEqual(fleet.worlds.get("host_a")!.restored.get("other"), { snapshotId: "snap", generation: 1 })
      }).pipe(Effect.provide(callsOf(fleet)))
    })
  )
})
