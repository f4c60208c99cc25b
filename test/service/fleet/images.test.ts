/** Images in a fleet: one host pulls an image, others do when a Sandbox boots from it there, and all remove it. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { FleetCopies } from "../../../src/fleet/FleetCopies.ts"
import { FleetPlacement } from "../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../src/fleet/FleetRuntime.ts"
import { HostFeeds } from "../../../src/fleet/HostFeeds.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { simulatedDigest } from "../../../src/host/simulated/simulatedImages.ts"
import { type ImageSource, Runtime, RuntimeRefused, type SandboxSpec } from "../../../src/runtime/Runtime.ts"
import { Placement } from "../../../src/sandbox/Placement.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { fleetService, untilHost, WorldHost } from "../../support/fleet/SupervisedWorlds.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"
import { WorldFleet } from "./WorldFleet.ts"

const reference = "registry.test/team/tools:1"
const digest = simulatedDigest(reference)
const source: ImageSource = { reference, digest: null, credentials: null }
const image = { ...source, digest }
const size = { vcpus: 1, memoryBytes: 2 ** 28, networkEnabled: false }

const spec = (sandboxId: string, changes: Partial<SandboxSpec> = {}): SandboxSpec => ({
  ...{ sandboxId, generation: 1, volumeBytes: 2 ** 26, image, ...size },
  ...changes
})

const placed = (sandboxId: string) =>
  Effect.flatMap(Placement, (placement) =>
    placement.place({ sandboxId, runtime: "namespace", diskBytes: 2 ** 26, image, ...size })
  )

/** The fleet's runtime and placement alone, without actors. */
const callsOf = (fleet: WorldFleet) =>
  Layer.mergeAll(FleetRuntime.layer, FleetPlacement.layer).pipe(
    Layer.provide(FleetCopies.layer),
    Layer.provide(Reservations.layer),
    Layer.provide(fleet.links),
    Layer.provide(Layer.succeed(HostFeeds, { supervised: Effect.succeed([]), console: Stream.never })),
    Layer.provide(testSettings({ ATOLL_BOOT_TIMEOUT_MS: "2000" }))
  )

const withHosts = <A, E>(
  hosts: ReadonlyArray<Parameters<WorldFleet["add"]>[0]>,
  test: (fleet: WorldFleet) => Effect.Effect<A, E, Runtime | Placement | SqlClient.SqlClient>
) =>
  Effect.gen(function* () {
    yield* fresh
    const fleet = new WorldFleet()
    for (const host of hosts) yield* fleet.add(host)
    yield* Effect.provide(test(fleet), callsOf(fleet))
  })

const haveIt = (fleet: WorldFleet) => [...fleet.worlds].flatMap(([id, { images }]) => (images.has(digest) ? [id] : []))

layer(TestDatabase.layer, { excludeTestServices: true })("images in a fleet", (it) => {
  it.effect("are pulled by one host that runs images, by another if it has no room, and by none if all lack them", () =>
    withHosts([{ id: "host_a" }, { id: "host_b" }, { id: "host_c", runsImages: false }], (fleet) =>
      Effect.gen(function* () {
        const { images } = yield* Runtime
        let crowded = 0
        for (const world of fleet.worlds.values()) {
          world.intercept = (call) =>
            call === "pullImage" && crowded++ === 0
              ? Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))
              : Effect.void
        }
        const pulled = yield* images.pull(source)
        assert.deepStrictEqual([pulled.digest, crowded, haveIt(fleet).length], [digest, 2, 1])
        // The registry would refuse the others, too.
        crowded = 1
        const missing = yield* Effect.flip(images.pull({ ...source, reference: "registry.test/missing:1" }))
        assert.deepInclude(missing, { code: "IMAGE_NOT_FOUND" })
        assert.strictEqual(crowded, 2)
        for (const id of ["host_a", "host_b"]) yield* fleet.becomes(id, "suspect")
        assert.deepInclude(yield* Effect.flip(images.pull(source)), { _tag: "RuntimeUnavailable" })
        for (const id of ["host_a", "host_b"]) yield* fleet.becomes(id, "gone")
        assert.deepInclude(yield* Effect.flip(images.pull(source)), { code: "IMAGE_UNSUPPORTED" })
        const refused = yield* Effect.flip(placed("none"))
        assert.include(refused.message, "No host of this server can give its Sandboxes an image")
      })
    )
  )

  it.effect("give their Sandboxes a host that runs images, which pulls by the digest unless it has it", () =>
    withHosts(
      [
        { id: "host_a", vcpus: 10 },
        { id: "host_b", vcpus: 10 },
        { id: "host_c", runsImages: false }
      ],
      (fleet) =>
        Effect.gen(function* () {
          const runtime = yield* Runtime
          yield* runtime.images.pull(source)
          const [first] = haveIt(fleet)
          const other = first === "host_a" ? "host_b" : "host_a"
          // A host that has the image is better, unless it is much fuller.
          for (const id of ["one", "two", "three"]) assert.strictEqual((yield* placed(id)).hostId, first)
          assert.strictEqual((yield* placed("four")).hostId, other)
          const asked: Array<string> = []
          fleet.worlds.get(other)!.intercept = (call, id) =>
            Effect.sync(() => void (call === "pullImage" && asked.push(id)))
          const credentials = { username: "robot", password: Redacted.make("secret") }
          yield* runtime.provision(spec("four", { image: { ...image, credentials } }))
          assert.deepStrictEqual([asked, haveIt(fleet)], [[reference], ["host_a", "host_b"]])
          assert.deepStrictEqual(fleet.worlds.get(other)!.machines.get("four")!.spec.image?.credentials, credentials)
        })
    )
  )

  it.effect("let a first boot go to another host if the image has no room on the first one", () =>
    withHosts([{ id: "host_a" }, { id: "host_b" }], (fleet) =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        const sql = yield* SqlClient.SqlClient
        const { hostId } = yield* placed("one")
        const snapshot = JSON.stringify({ value: "provisioning", context: { runtime: "namespace" } })
        yield* sql`
          insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
          values ('one', 'sandbox', '', '', 1, 1, '{}', ${snapshot}::text::jsonb, 0)`
        fleet.worlds.get(hostId!)!.intercept = (call) =>
          call === "pullImage"
            ? Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))
            : Effect.void
        yield* runtime.provision(spec("one"))
        assert.deepStrictEqual(fleet.aliveOn("one"), [hostId === "host_a" ? "host_b" : "host_a"])
      })
    )
  )

  it.effect("are removed from all hosts that answer", () =>
    withHosts([{ id: "host_a" }, { id: "host_b" }, { id: "host_c" }], (fleet) =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        for (const { images } of fleet.worlds.values()) images.add(digest)
        fleet.cut.add("host_b")
        yield* runtime.images.remove(digest)
        assert.deepStrictEqual(haveIt(fleet), ["host_b"])
      })
    )
  )

  it.effect("that no account has leave a host when it is back, and the fleet knows which hosts have the others", () =>
    Effect.gen(function* () {
      yield* fresh
      const sql = yield* SqlClient.SqlClient
      yield* sql`delete from actors where kind = 'image'`
      const host = yield* WorldHost.make("host_images")
      const snapshot = JSON.stringify({ value: "ready", context: { digest } })
      yield* sql`
        insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
        values ('img_kept', 'image', 'other', '', 1, 1, '{}', ${snapshot}::text::jsonb, 0)`
      host.world.images.add(digest)
      host.world.images.add(simulatedDigest("registry.test/late:1"))
      yield* Effect.gen(function* () {
        yield* Effect.forkScoped(host.live)
        yield* untilHost(host.id, "ready")
        assert.deepStrictEqual([...host.world.images], [digest])
        const rows = yield* until(
          sql<{ readonly digest: string }>`select digest from host_images where host_id = ${host.id}`,
          (found) => found.length > 0
        )
        assert.deepStrictEqual(rows, [{ digest }])
      }).pipe(Effect.scoped, Effect.provide(fleetService([host])))
    })
  )
})
