/** Each step of snapshots, forks, rollbacks, imports and images on a host whose disk has no room for it, or gets full meanwhile. */
import { existsSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import { recipe } from "../../../../src/host/qemu/image/recipe.ts"
import {
  type ImagePiece,
  Runtime,
  type RuntimeRefused,
  type RuntimeUnavailable,
  type RuntimeUnsupported,
  type SnapshotImage
} from "../../../../src/runtime/Runtime.ts"
import { busybox, withShell } from "../../../support/host/image/busyboxImage.ts"
import { layerOf, TestRegistry } from "../../../support/host/image/TestRegistry.ts"
import { filesOn, fillBut, fillUp, makeRoom, onceMade } from "../../../support/host/linux/filledDisk.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2
const volumeBytes = 64 * MiB
/** The service's own few files need it. */
const LEFT_BYTES = 18 * MiB

const isFull = { _tag: "RuntimeRefused", code: "HOST_FULL" }
const hasNoRoom = { _tag: "RuntimeRefused", code: "IMAGE_NO_ROOM" }

const isUsable = unusable === null && process.getuid?.() === 0 && existsSync(busybox)

interface Step {
  readonly ask: Effect.Effect<unknown, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  readonly refusal: object
  /** The Sandbox that it makes. */
  readonly boots?: { readonly sandboxId: string; readonly shows: string }
  /** Lets others take the room while it is written. The result undoes that. */
  readonly midway: () => () => void
}

type Steps = Readonly<Record<string, Step>>

const gathered = async (pieces: AsyncIterable<ImagePiece>): Promise<ReadonlyArray<ImagePiece>> => {
  const all: Array<ImagePiece> = []
  for await (const { offset, bytes } of pieces) all.push({ offset, bytes: Uint8Array.from(bytes) })
  return all
}

const spec = sandboxSpec("source", { volumeBytes })

const when = (disk: string) => (path: string, end: string) => () =>
  onceMade(
    join(disk, "runtime/qemu", path),
    (name) => name.endsWith(end),
    () => fillUp(disk)
  ).end

/** Steps that a machine that runs can be asked for. There are the snapshots `volume` and, with memory, `memory`. */
const whileItRuns = (disk: string, registry: TestRegistry, image: SnapshotImage, pieces: ReadonlyArray<ImagePiece>) =>
  Effect.map(Runtime, ({ snapshots, provision }): Steps => {
    const whenMade = when(disk)
    let cut = () => {}
    const copy = (): SnapshotImage => ({
      ...image,
      pieces: (async function* () {
        for (const [index, piece] of pieces.entries()) {
          yield piece
          if (index === 0) cut()
        }
      })()
    })
    const digest = registry.image("one", { layers: [layerOf(withShell)] })
    const source = { reference: `${registry.host}/tests/image:one`, digest, credentials: null }
    const refusal = isFull
    return {
      snapshot: { ask: snapshots.capture("later", "source"), refusal, midway: whenMade(".snapshots", ".partial") },
      "its memory": {
        ask: snapshots.capture("later-memory", "source", true),
        refusal,
        midway: whenMade("source", "captured.state")
      },
      "the volume beside its memory": {
        ask: snapshots.capture("later-memory", "source", true),
        refusal,
        midway: whenMade(".snapshots", ".partial")
      },
      fork: {
        ask: provision({ ...spec, sandboxId: "child", snapshotId: "volume" }),
        refusal,
        boots: { sandboxId: "child", shows: "then\n0" },
        midway: whenMade("child", "volume.raw.partial")
      },
      "fork with memory": {
        ask: provision({ ...spec, sandboxId: "twin", snapshotId: "memory" }),
        refusal,
        boots: { sandboxId: "twin", shows: "then\n1" },
        midway: whenMade("twin", "volume.raw.partial")
      },
      import: {
        ask: Effect.suspend(() => snapshots.receive("import", copy(), "vm")),
        refusal,
        midway: () => {
          cut = () => fillUp(disk)
          return () => {
            cut = () => {}
          }
        }
      },
      "first boot from an image": {
        ask: provision({ ...spec, sandboxId: "of-image", image: source, snapshotId: "volume" }),
        refusal: hasNoRoom,
        boots: { sandboxId: "of-image", shows: "then\n0" },
        midway: whenMade(".images", ".partial")
      }
    }
  })

const onceStopped = (disk: string) =>
  Effect.map(Runtime, ({ snapshots }): Steps => {
    const whenMade = when(disk)
    const refusal = isFull
    const withMemory = snapshots.restore("memory", "source", 1)
    return {
      rollback: {
        ask: snapshots.restore("volume", "source", 1),
        refusal,
        midway: whenMade("source", "volume.raw.partial")
      },
      "rollback with memory": { ask: withMemory, refusal, midway: whenMade("source", "root.qcow2.partial") },
      "its volume": { ask: withMemory, refusal, midway: whenMade("source", "volume.raw.partial") }
    }
  })

/** The steps are refused, first before anything is written and then midway. `goesOn` says that the source does. */
const refusesEach = (disk: string, steps: Steps, goesOn: Effect.Effect<void, unknown>) =>
  Effect.gen(function* () {
    const before = filesOn(disk)
    const isRefused = Effect.fnUntraced(function* (name: string, { ask, refusal }: Step) {
      const refused = yield* Effect.flip(ask)
      expect(refused, name).toMatchObject(refusal)
      expect(refused.message, name).not.toMatch(/ATOLL_|MiB|\d/)
    })
    fillBut(disk, LEFT_BYTES)
    for (const [name, step] of Object.entries(steps)) {
      yield* isRefused(name, step)
      expect(filesOn(disk), name).toEqual(before)
    }
    yield* goesOn
    makeRoom(disk)
    for (const [name, step] of Object.entries(steps)) {
      const end = step.midway()
      yield* isRefused(`${name}, midway`, step)
      end()
      makeRoom(disk)
      yield* goesOn
      expect(filesOn(disk), `${name}, midway`).toEqual(before)
    }
  })

describe.skipIf(!isUsable)("virtual machines on a disk that is full", () => {
  it.live(
    "each step of a snapshot, a fork, a rollback, an import and a first boot from an image is refused, leaves nothing behind and its source as it was, and works once there is room; an export needs none",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* scopedFolder
          // For two machines at a time.
          const disk = yield* smallDisk(folder, Math.ceil(2.1 * recipe.rootBytes) + 2 * volumeBytes + 1536 * MiB)
          const registry = yield* Effect.acquireRelease(
            Effect.promise(() => TestRegistry.start()),
            (it) => Effect.promise(() => it.close())
          )
          const environment = { ATOLL_DISK_RESERVE_BYTES: "0", ATOLL_IMAGE_REGISTRIES: registry.host }
          const body = Effect.flatMap(Runtime, (driver) =>
            Effect.ensuring(everyStep(disk, registry), Effect.orDie(destroyAll(driver)))
          )
          yield* Effect.provide(body, driverOn(disk, environment))
        })
      ),
    2 * TIMEOUT_MS
  )
})

const everyStep = (disk: string, registry: TestRegistry) =>
  Effect.gen(function* () {
    const driver = yield* Runtime
    const { snapshots } = driver
    yield* driver.provision(spec)
    const source = yield* driver.guest("source", 1)
    const started = "echo then > word; head -c 8000000 /dev/urandom > file; sleep 100000 > /dev/null 2>&1 &"
    yield* output(source, started)
    yield* snapshots.capture("volume", "source")
    yield* snapshots.capture("memory", "source", true)
    yield* output(source, "echo now > word; sync")
    const image = yield* snapshots.read("volume", null)
    const pieces = yield* Effect.promise(() => gathered(image.pieces))
    const running = yield* whileItRuns(disk, registry, image, pieces)

    /** What its disk held up goes on by itself. */
    const shows = Effect.fnUntraced(function* (sandboxId: string, generation: number, what: string) {
      yield* eventually(Effect.map(Effect.exit(driver.guest(sandboxId, generation)), Exit.isSuccess))
      const guest = yield* driver.guest(sandboxId, generation)
      expect(yield* output(guest, "cat word; grep -lx sleep /proc/[0-9]*/comm 2>/dev/null | wc -l")).toBe(what)
    })
    const goesOn = shows("source", 1, "now\n1")
    yield* refusesEach(disk, running, goesOn)
    fillUp(disk)
    const exported = yield* snapshots.read("volume", null)
    expect(yield* Effect.promise(() => gathered(exported.pieces))).toEqual(pieces)
    makeRoom(disk)
    yield* goesOn

    yield* driver.stop("source", 1)
    yield* refusesEach(disk, yield* onceStopped(disk), Effect.void)
    yield* driver.provision({ ...spec, generation: 2 })
    yield* shows("source", 2, "now\n0")

    for (const { ask } of Object.values(running).filter(({ boots }) => boots === undefined)) yield* ask
    for (const { ask, boots } of Object.values(running)) {
      if (boots === undefined) continue
      yield* ask
      yield* shows(boots.sandboxId, 1, boots.shows)
      yield* driver.destroy(boots.sandboxId)
    }
    yield* snapshots.accept("import", null)

    yield* driver.stop("source", 2)
    yield* snapshots.restore("volume", "source", 2)
    yield* driver.provision({ ...spec, generation: 3 })
    yield* shows("source", 3, "then\n0")
    yield* driver.stop("source", 3)
    yield* snapshots.restore("memory", "source", 3)
    yield* driver.provision({ ...spec, generation: 4 })
    yield* shows("source", 4, "then\n1")

    // Memory that a rollback has laid beside a volume goes with the next rollback.
    yield* driver.stop("source", 4)
    const before = filesOn(disk)
    yield* snapshots.restore("memory", "source", 4)
    expect(filesOn(disk).length).toBe(before.length + 2)
    yield* snapshots.restore("volume", "source", 5)
    expect(filesOn(disk)).toEqual(before)
  })
