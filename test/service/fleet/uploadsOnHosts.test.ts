/** Uploaded images in a fleet: one host takes the archive, and the others get the image from it. */
import { assert, layer } from "@effect/vitest"
import { Effect, Fiber, Layer, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { publicText } from "../../../schemas/PublicText.ts"
import { removeHost } from "../../../src/fleet/askHost.ts"
import { FleetCopies } from "../../../src/fleet/FleetCopies.ts"
import { FleetPlacement } from "../../../src/fleet/FleetPlacement.ts"
import { FleetRuntime } from "../../../src/fleet/FleetRuntime.ts"
import { HostFeeds } from "../../../src/fleet/HostFeeds.ts"
import { Hosts } from "../../../src/fleet/Hosts.ts"
import { imagesOnHosts } from "../../../src/fleet/imagesOnHosts.ts"
import { leaveHost } from "../../../src/fleet/leaveHost.ts"
import { Reservations } from "../../../src/fleet/Reservations.ts"
import { Runtime, RuntimeRefused, RuntimeUnavailable, type SandboxSpec } from "../../../src/runtime/Runtime.ts"
import { Placement } from "../../../src/sandbox/Placement.ts"
import { fresh } from "../../support/fleet/fresh.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"
import { WorldFleet } from "./WorldFleet.ts"

const size = { vcpus: 1, memoryBytes: 2 ** 28, networkEnabled: false }

const specOf = (sandboxId: string, digest: string): SandboxSpec => ({
  // A first generation boots where its create has reserved a moment ago.
  ...{ sandboxId, generation: 2, volumeBytes: 2 ** 26, ...size },
  image: { reference: digest, digest, credentials: null }
})

async function* archive(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("an archive")
}

async function* brokenOff(): AsyncGenerator<Uint8Array> {
  yield Buffer.from("half")
  throw new Error("The client is gone.")
}

/** The fleet's runtime and placement alone, without actors. */
const callsOf = (fleet: WorldFleet) =>
  Layer.mergeAll(FleetRuntime.layer, FleetPlacement.layer).pipe(
    Layer.provideMerge(FleetCopies.layer),
    Layer.provideMerge(Reservations.layer),
    Layer.provide(fleet.links),
    Layer.provide(Layer.succeed(HostFeeds, { supervised: Effect.succeed([]), console: Stream.never })),
    Layer.provide(testSettings({ ATOLL_BOOT_TIMEOUT_MS: "2000" }))
  )

const withHosts = <A, E>(
  hosts: ReadonlyArray<Parameters<WorldFleet["add"]>[0]>,
  test: (fleet: WorldFleet) => Effect.Effect<A, E, Layer.Success<ReturnType<typeof callsOf>> | SqlClient.SqlClient>
) =>
  Effect.gen(function* () {
    yield* fresh
    const fleet = new WorldFleet()
    for (const host of hosts) yield* fleet.add(host)
    yield* Effect.provide(test(fleet), callsOf(fleet))
  })

const two = [{ id: "host_a", diskBytes: 2e15 }, { id: "host_b" }]

const withArchive = ({ worlds }: WorldFleet, imageId: string) =>
  [...worlds].flatMap(([id, { uploads }]) => (uploads.has(imageId) ? [id] : []))
const withImage = ({ worlds }: WorldFleet, digest: string) =>
  [...worlds].flatMap(([id, { images }]) => (images.has(digest) ? [id] : []))

/** A Sandbox without a boot, on this host. */
const placedOn = Effect.fnUntraced(function* (sandboxId: string, digest: string, hostId: string) {
  const sql = yield* SqlClient.SqlClient
  const placement = yield* Placement
  const { image } = specOf(sandboxId, digest)
  yield* placement.place({ sandboxId, runtime: "namespace", diskBytes: 2 ** 26, image: image!, ...size })
  yield* sql`update host_promises set host_id = ${hostId} where sandbox_id = ${sandboxId}`
})

const accepted = Effect.fnUntraced(function* (imageId: string) {
  const { images } = yield* Runtime
  yield* images.receive(imageId, archive())
  return (yield* images.accept(imageId)).digest
})

/** The actor of an uploaded image. */
const recorded = Effect.fnUntraced(function* (imageId: string, digest: string | null, value: string) {
  const sql = yield* SqlClient.SqlClient
  const snapshot = JSON.stringify({ value, context: { digest, reference: null } })
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    values (${imageId}, 'image', 'other', '', 1, 1, '{}', ${snapshot}::text::jsonb, 0)`
})

const noRoom = Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))

layer(TestDatabase.layer, { excludeTestServices: true })("an uploaded image in a fleet", (it) => {
  it.effect("is taken by the host with most room; another one does if that has none, or does not answer", () =>
    withHosts([...two, { id: "host_c", diskBytes: 3e15, runsImages: false }], (fleet) =>
      Effect.gen(function* () {
        const { images } = yield* Runtime
        yield* images.receive("img_one", archive())
        assert.deepStrictEqual(withArchive(fleet, "img_one"), ["host_a"])
        fleet.worlds.get("host_a")!.intercept = (call) =>
          call === "receiveImage"
            ? Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))
            : Effect.void
        yield* images.receive("img_two", archive())
        assert.deepStrictEqual(withArchive(fleet, "img_two"), ["host_b"])
        fleet.cut.add("host_a")
        const digest = yield* accepted("img_three")
        assert.deepStrictEqual(withImage(fleet, digest), ["host_b"])
        // Its archive waits for its host.
        assert.deepInclude(yield* Effect.flip(images.accept("img_one")), { _tag: "RuntimeUnavailable" })
        yield* fleet.becomes("host_a", "gone")
        assert.deepInclude(yield* Effect.flip(images.accept("img_one")), { code: "IMAGE_NOT_FOUND" })
        yield* fleet.becomes("host_b", "gone")
        assert.deepInclude(yield* Effect.flip(images.receive("img_four", archive())), { code: "IMAGE_UNSUPPORTED" })
      })
    )
  )

  it.effect("leaves nothing of an archive that breaks off, and is asked of no second host", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const { images } = yield* Runtime
        const sql = yield* SqlClient.SqlClient
        assert.deepInclude(yield* Effect.flip(images.receive("img_one", brokenOff())), { _tag: "RuntimeUnavailable" })
        assert.deepStrictEqual(withArchive(fleet, "img_one"), [])
        assert.deepStrictEqual(yield* sql`select 1 from image_uploads where image_id = 'img_one'`, [])
        assert.deepInclude(yield* Effect.flip(images.accept("img_one")), { code: "IMAGE_NOT_FOUND" })
      })
    )
  )

  it.effect("can be received again after a service was killed, which discards the former archive", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const { images } = yield* Runtime
        yield* images.receive("img_one", archive())
        // The first host is full by now.
        fleet.worlds.get("host_a")!.intercept = (call) =>
          call === "receiveImage"
            ? Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))
            : Effect.void
        yield* images.receive("img_one", archive())
        assert.deepStrictEqual(withArchive(fleet, "img_one"), ["host_b"])
        yield* images.discard("img_one")
        yield* images.discard("img_one")
        assert.deepStrictEqual(withArchive(fleet, "img_one"), [])
      })
    )
  )

  it.effect(
    "is brought to another host when a Sandbox boots there, also from a host that is drained, once for many",
    () =>
      withHosts(two, (fleet) =>
        Effect.gen(function* () {
          const runtime = yield* Runtime
          const digest = yield* accepted("img_one")
          const [first, second] = [fleet.worlds.get("host_a")!, fleet.worlds.get("host_b")!]
          let reads = 0
          first.intercept = (call) => Effect.sync(() => void (call === "readImage" && reads++))
          yield* fleet.becomes("host_a", "draining")
          for (const id of ["one", "two"]) yield* placedOn(id, digest, "host_b")
          yield* Effect.forEach(["one", "two"], (id) => runtime.provision(specOf(id, digest)), {
            concurrency: "unbounded"
          })
          assert.deepStrictEqual([withImage(fleet, digest), reads], [["host_a", "host_b"], 1])
          // The host that took the archive is not needed any more.
          fleet.cut.add("host_a")
          second.machines.clear()
          yield* runtime.provision({ ...specOf("one", digest), generation: 3 })
          assert.isTrue(second.machines.has("one"))
        })
      )
  )

  it.effect("comes again to a host that has lost it", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        const digest = yield* accepted("img_one")
        yield* placedOn("one", digest, "host_b")
        yield* runtime.provision(specOf("one", digest))
        fleet.worlds.get("host_b")!.images.clear()
        yield* placedOn("two", digest, "host_b")
        yield* runtime.provision(specOf("two", digest))
        assert.deepStrictEqual(withImage(fleet, digest), ["host_a", "host_b"])
      })
    )
  )

  it.effect("refuses a Sandbox with a sentence where no host has it, and while its only host is away", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        const digest = yield* accepted("img_one")
        yield* placedOn("one", digest, "host_b")
        fleet.cut.add("host_a")
        const away = yield* Effect.flip(runtime.provision(specOf("one", digest)))
        assert.deepInclude(away, { _tag: "RuntimeUnavailable" })
        assert.include((away as RuntimeUnavailable).shown, "The host that has the uploaded image does not answer now.")
        yield* fleet.becomes("host_a", "gone")
        const lost = yield* Effect.flip(runtime.provision(specOf("one", digest)))
        assert.deepInclude(lost, { code: "IMAGE_NOT_FOUND" })
        assert.include(lost.message, "upload it again")
      })
    )
  )

  it.effect("is read again when a transfer breaks, and the host without room lets another one boot the Sandbox", () =>
    withHosts([...two, { id: "host_c" }], (fleet) =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        const sql = yield* SqlClient.SqlClient
        const digest = yield* accepted("img_one")
        let broken = 0
        fleet.worlds.get("host_b")!.intercept = (call) =>
          Effect.suspend(() =>
            call === "storeImage" && broken++ === 0
              ? Effect.fail(new RuntimeUnavailable({ message: "The connection broke." }))
              : Effect.void
          )
        yield* placedOn("one", digest, "host_b")
        yield* runtime.provision(specOf("one", digest))
        assert.deepStrictEqual([broken, fleet.aliveOn("one")], [2, ["host_b"]])
        fleet.worlds.get("host_c")!.intercept = (call) =>
          call === "storeImage"
            ? Effect.fail(new RuntimeRefused({ code: "IMAGE_NO_ROOM", message: publicText`No room.` }))
            : Effect.void
        yield* placedOn("two", digest, "host_c")
        const snapshot = JSON.stringify({ value: "provisioning", context: { runtime: "namespace" } })
        yield* sql`
          insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
          values ('two', 'sandbox', '', '', 1, 1, '{}', ${snapshot}::text::jsonb, 0)`
        yield* runtime.provision(specOf("two", digest))
        assert.notInclude(fleet.aliveOn("two"), "host_c")
        assert.strictEqual(fleet.aliveOn("two").length, 1)
      })
    )
  )

  it.effect("is one image for two that come to one host at the same time", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const both = yield* Effect.all([accepted("img_one"), accepted("img_two")], { concurrency: 2 })
        assert.strictEqual(both[0], both[1])
        assert.deepStrictEqual(withImage(fleet, both[0]), ["host_a"])
      })
    )
  )

  it.effect("gives its place back when its upload is interrupted", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const { images } = yield* Runtime
        const sql = yield* SqlClient.SqlClient
        fleet.worlds.get("host_a")!.intercept = (call) => (call === "receiveImage" ? Effect.never : Effect.void)
        const fiber = yield* Effect.forkChild(images.receive("img_one", archive()))
        yield* until(sql`select 1 from image_uploads where image_id = 'img_one'`, (rows) => rows.length > 0)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(yield* sql`select 1 from image_uploads where image_id = 'img_one'`, [])
      })
    )
  )

  it.effect("that was noted a moment ago is not forgotten by an inventory of before; an older one is", () =>
    withHosts(two, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const rows = yield* imagesOnHosts
        const digest = yield* accepted("img_one")
        yield* rows.replace("host_a", [], () => Effect.void)
        assert.deepStrictEqual(yield* rows.sources(digest), ["host_a"])
        yield* sql`update host_images set noted_at = noted_at - 120000`
        yield* rows.replace("host_a", [], () => Effect.void)
        assert.deepStrictEqual(yield* rows.sources(digest), [])
      })
    )
  )

  it.effect("keeps its only host from being removed without force, also while it is made of its archive", () =>
    withHosts(two, (fleet) =>
      Effect.gen(function* () {
        const runtime = yield* Runtime
        const hosts = yield* Hosts
        yield* runtime.images.receive("img_made", archive())
        yield* recorded("img_made", null, "pulling")
        assert.strictEqual(yield* hosts.imagesOn("host_a"), 1)
        yield* runtime.images.discard("img_made")
        const digest = yield* accepted("img_only")
        yield* runtime.images.discard("img_only")
        yield* recorded("img_only", digest, "ready")
        yield* fleet.becomes("host_a", "draining")
        const host = (yield* hosts.find("host_a"))!
        assert.strictEqual(host.imagesOnlyHere, 1)
        const refused = yield* Effect.flip(removeHost(host, false))
        assert.include(refused.message, "host_a has 1 uploaded image, which is lost with it")
        yield* placedOn("one", digest, "host_b")
        yield* runtime.provision(specOf("one", digest))
        assert.strictEqual(yield* hosts.imagesOn("host_a"), 0)
        yield* fleet.becomes("host_b", "gone")
        assert.strictEqual(yield* hosts.imagesOn("host_a"), 1)
      }).pipe(Effect.provide(Hosts.layer))
    )
  )

  it.effect("leaves a host that is drained for one with room, once, also where a Sandbox has a deleted one", () =>
    withHosts([...two, { id: "host_c", runsImages: false }, { id: "host_d", diskBytes: 5e14 }], (fleet) =>
      Effect.gen(function* () {
        const leave = yield* leaveHost
        const hosts = yield* Hosts
        const [full, taker] = [fleet.worlds.get("host_b")!, fleet.worlds.get("host_d")!]
        const digest = yield* accepted("img_one")
        yield* recorded("img_one", digest, "deleting")
        yield* fleet.becomes("host_a", "draining")
        full.intercept = (call) => (call === "storeImage" ? noRoom : Effect.void)
        let stored = 0
        taker.intercept = (call) => (call === "storeImage" && stored++ === 1 ? noRoom : Effect.void)
        const counts = (hostId: string, goesOn: boolean) =>
          Effect.map(
            leave(hostId, () => goesOn),
            ([images]) => images
          )
        const name = "uploaded images"
        assert.deepStrictEqual(yield* counts("host_a", false), { name, stayed: 0, left: 0 })
        assert.deepStrictEqual(yield* counts("host_a", true), { name, stayed: 0, left: 1 })
        assert.deepStrictEqual(withImage(fleet, digest), ["host_a", "host_d"])
        assert.deepStrictEqual(yield* counts("host_a", true), { name, stayed: 0, left: 0 })
        assert.strictEqual(stored, 1)

        // A copy on a host that is drained, too, does not count.
        yield* fleet.becomes("host_d", "draining")
        assert.strictEqual(yield* hosts.imagesOn("host_d"), 1)
        assert.deepStrictEqual(yield* counts("host_d", true), { name, stayed: 1, left: 0 })
        full.intercept = () => Effect.void
        assert.deepStrictEqual(yield* counts("host_d", true), { name, stayed: 0, left: 1 })
        assert.deepStrictEqual(withImage(fleet, digest), ["host_a", "host_b", "host_d"])
      }).pipe(Effect.provide(Hosts.layer))
    )
  )
})
