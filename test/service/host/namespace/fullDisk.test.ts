import { rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type ImagePiece,
  Runtime,
  type RuntimeRefused,
  type RuntimeUnavailable,
  type RuntimeUnsupported,
  type SnapshotImage
} from "../../../../src/runtime/Runtime.ts"
import { withShell } from "../../../support/host/image/busyboxImage.ts"
import { layerOf, TestRegistry } from "../../../support/host/image/TestRegistry.ts"
import { filesOn, fillBut, fillUp, makeRoom, onceMade } from "../../../support/host/linux/filledDisk.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { dataFolder, driverOn, isRoot, unusable } from "../../../support/host/namespace/TestHost.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2

/** Without the empty volumes that are made ahead, whenever there is time. */
const filesOf = (disk: string) => filesOn(disk, ({ folder }) => !folder.endsWith(".blank"))

const gathered = async (pieces: AsyncIterable<ImagePiece>): Promise<ReadonlyArray<ImagePiece>> => {
  const all: Array<ImagePiece> = []
  for await (const { offset, bytes } of pieces) all.push({ offset, bytes: Uint8Array.from(bytes) })
  return all
}

const volumeBytes = 64 * MiB
const isFull = { _tag: "RuntimeRefused", code: "HOST_FULL" }
const hasNoRoom = { _tag: "RuntimeRefused", code: "IMAGE_NO_ROOM" }

/** The pieces of a volume. `midway` runs after the first of them. */
const copyOf = ({ owner }: SnapshotImage, pieces: ReadonlyArray<ImagePiece>, midway = () => {}): SnapshotImage => ({
  sizeBytes: volumeBytes,
  owner,
  pieces: (async function* () {
    for (const [index, piece] of pieces.entries()) {
      yield piece
      if (index === 0) midway()
    }
  })()
})

interface Step {
  readonly ask: Effect.Effect<unknown, RuntimeRefused | RuntimeUnavailable | RuntimeUnsupported>
  readonly refusal: object
  /** Lets others take the room while it is written. The result undoes that. */
  readonly midway: () => () => void
}

/** A host with the snapshot `then` of the Sandbox `source`, which has stopped since. */
const stepsOf = (disk: string, registry: TestRegistry, whole: SnapshotImage, pieces: ReadonlyArray<ImagePiece>) =>
  Effect.gen(function* () {
    const { snapshots, images, provision } = yield* Runtime
    const spec = sandboxSpec("source", { volumeBytes })
    const root = join(disk, "runtime/namespace")
    const whenMade = (path: string, end: string) => () =>
      onceMade(
        join(root, path),
        (name) => name.endsWith(end),
        () => fillUp(disk)
      ).end
    const whenAsked = () => {
      registry.fault = ({ url }) => {
        if (/blobs/.test(url ?? "")) fillUp(disk)
        return false
      }
      return () => {
        registry.fault = () => false
      }
    }
    let cut = () => {}
    const imported = Effect.suspend(() => snapshots.receive("import", copyOf(whole, pieces, cut), "namespace"))
    const digest = registry.image("one", {
      layers: [layerOf([...withShell, { name: "file", content: Buffer.alloc(4 * MiB, "layer") }])]
    })
    const image = { reference: `${registry.host}/tests/image:one`, digest: null, credentials: null }
    const steps: Readonly<Record<string, Step>> = {
      snapshot: {
        ask: snapshots.capture("now", "source"),
        refusal: isFull,
        midway: whenMade(".snapshots", ".partial")
      },
      fork: {
        ask: provision({ ...spec, sandboxId: "child", snapshotId: "then" }),
        refusal: isFull,
        midway: whenMade("child", "volume.img.partial")
      },
      rollback: {
        ask: snapshots.restore("then", "source", 1),
        refusal: isFull,
        midway: whenMade("source", "volume.img.partial")
      },
      import: {
        ask: imported,
        refusal: isFull,
        midway: () => {
          cut = () => fillUp(disk)
          return () => {
            cut = () => {}
          }
        }
      },
      pull: { ask: images.pull(image), refusal: hasNoRoom, midway: whenAsked },
      boot: {
        ask: provision({ ...spec, sandboxId: "of-image", image: { ...image, digest } }),
        refusal: hasNoRoom,
        midway: whenAsked
      }
    }
    return steps
  })

/** Each step is refused before and while it is written, and works afterwards. */
const everyStep = (disk: string, registry: TestRegistry) =>
  Effect.gen(function* () {
    const driver = yield* Runtime
    const { snapshots, images } = driver
    const spec = sandboxSpec("source", { volumeBytes })
    yield* driver.provision(spec)
    const guest = yield* driver.guest("source", 1)
    yield* output(guest, "head -c 8000000 /dev/urandom > file; echo then > word")
    yield* snapshots.capture("then", "source")
    fillBut(disk, 18 * MiB)
    expect(yield* Effect.flip(snapshots.capture("now", "source"))).toMatchObject(isFull)
    makeRoom(disk)
    const isFilled = onceMade(
      join(disk, "runtime/namespace/.snapshots"),
      (name) => name.endsWith(".partial"),
      () => fillUp(disk)
    )
    expect(yield* Effect.flip(snapshots.capture("now", "source"))).toMatchObject(isFull)
    isFilled.end()
    makeRoom(disk)
    expect(yield* snapshots.inventory).toEqual(["then"])
    expect(yield* output(guest, "cat word; echo now > word; sync; cat word")).toBe("then\nnow")
    yield* driver.stop("source", 1)
    const whole = yield* snapshots.read("then", null)
    const pieces = yield* Effect.promise(() => gathered(whole.pieces))
    const steps = yield* stepsOf(disk, registry, whole, pieces)

    const before = filesOf(disk)
    const isRefused = Effect.fnUntraced(function* (name: string, { ask, refusal }: Step) {
      const refused = yield* Effect.flip(ask)
      expect(refused, name).toMatchObject(refusal)
      expect(refused.message, name).not.toMatch(/ATOLL_|MiB|\d/)
      expect(filesOf(disk), name).toEqual(before)
    })
    fillBut(disk, 18 * MiB)
    for (const [name, step] of Object.entries(steps)) yield* isRefused(name, step)
    const exported = yield* snapshots.read("then", null)
    expect(yield* Effect.promise(() => gathered(exported.pieces))).toEqual(pieces)
    makeRoom(disk)

    for (const [name, step] of Object.entries(steps)) {
      const end = step.midway()
      yield* isRefused(name, step)
      end()
      makeRoom(disk)
    }
    expect(yield* snapshots.inventory).toEqual(["then"])
    expect(yield* images.inventory).toEqual([])
    expect((yield* driver.inventory).map(({ sandboxId }) => sandboxId)).toEqual(["source"])
    // A rollback that was refused has changed nothing.
    yield* driver.provision({ ...spec, generation: 2 })
    expect(yield* output(yield* driver.guest("source", 2), "cat word")).toBe("now")
    yield* driver.stop("source", 2)

    for (const [name, { ask }] of Object.entries(steps)) if (name !== "rollback") yield* ask
    yield* snapshots.restore("then", "source", 2)
    yield* snapshots.accept("import", null)
    yield* driver.provision({ ...spec, generation: 3 })
    yield* driver.provision({ ...spec, sandboxId: "of-import", snapshotId: "import" })
    for (const [id, generation] of [
      ["source", 3],
      ["child", 1],
      ["of-import", 1]
    ] as const) {
      expect(yield* output(yield* driver.guest(id, generation), "cat word")).toBe("then")
    }
    for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
  })

describe.skipIf(unusable !== null || !isRoot)("namespace driver on a small disk", () => {
  it.live(
    "every volume has its whole size reserved, and a new one is refused in plain words once the disk is fully reserved",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
            Effect.promise(() => rm(path, { recursive: true, force: true }))
          )
          const disk = yield* smallDisk(folder, 500 * MiB)
          const spec = (sandboxId: string) => sandboxSpec(sandboxId, { volumeBytes: 128 * MiB })
          const body = Effect.gen(function* () {
            const driver = yield* Runtime
            // The program of the agent and its Node are on another disk; the file system's own share is less than one
            // volume.
            yield* driver.provision(spec("one"))
            yield* driver.provision(spec("two"))
            const refused = yield* Effect.flip(driver.provision(spec("three")))
            expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "HOST_FULL" })
            expect(refused.message).not.toMatch(/ATOLL_|MiB|\d/)
            expect((yield* driver.inventory).map(({ sandboxId }) => sandboxId).toSorted()).toEqual(["one", "two"])
            // A volume that exists keeps its room.
            yield* driver.stop("one", 1)
            yield* driver.provision({ ...spec("one"), generation: 2 })
            yield* driver.destroy("two")
            yield* driver.provision(spec("three"))
            for (const id of ["one", "three"]) yield* driver.destroy(id)
          })
          yield* Effect.provide(body, driverOn(disk, { ATOLL_DISK_RESERVE_BYTES: String(150 * MiB) }))
        })
      )
  )

  it.live(
    "a snapshot, a fork, a rollback, an import, a pull and a boot from an image are refused on a full disk, leave nothing behind, and succeed once there is room; an export needs none",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
            Effect.promise(() => rm(path, { recursive: true, force: true }))
          )
          const disk = yield* smallDisk(folder, 500 * MiB)
          const registry = yield* Effect.acquireRelease(
            Effect.promise(() => TestRegistry.start()),
            (it) => Effect.promise(() => it.close())
          )
          const body = everyStep(disk, registry)
          const environment = {
            ATOLL_DISK_RESERVE_BYTES: String(16 * MiB),
            ATOLL_IMAGE_REGISTRIES: registry.host
          }
          yield* Effect.provide(body, driverOn(disk, environment))
        })
      )
  )
})
