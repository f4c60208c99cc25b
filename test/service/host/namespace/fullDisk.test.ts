import { execFileSync, spawnSync } from "node:child_process"
import { existsSync, readdirSync, rmSync, statfsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { type ImagePiece, Runtime, type SnapshotImage } from "../../../../src/runtime/Runtime.ts"
import { layerOf, TestRegistry } from "../../../support/host/image/TestRegistry.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { dataFolder, driverOn, isRoot, unusable } from "../../../support/host/namespace/TestHost.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2

/** Takes the disk but for so much. */
const fill = (disk: string, leftBytes: number): void => {
  const { bavail, bsize } = statfsSync(disk)
  const bytes = bavail * bsize - leftBytes
  if (bytes > 0) execFileSync("fallocate", ["-l", String(bytes), `${disk}/filler`])
}

/** Takes the last block, too. The file system needs some for its own tables, so the last ones are written until one fails. */
const fillUp = (disk: string): void => {
  if (existsSync(`${disk}/filler`)) return
  fill(disk, 4 * MiB)
  const { stderr } = spawnSync("dd", ["if=/dev/zero", `of=${disk}/filler-end`, "bs=4096"], { encoding: "utf8" })
  expect(stderr).toContain("No space left on device")
}

const makeRoom = (disk: string): void => {
  for (const name of readdirSync(disk)) if (name.startsWith("filler")) rmSync(`${disk}/${name}`)
}

/** Without the empty volumes that are made ahead, whenever there is time. */
const filesOf = (disk: string): ReadonlyArray<string> =>
  readdirSync(disk, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.startsWith("filler") && !entry.parentPath.endsWith(".blank"))
    .map(({ parentPath, name }) => `${parentPath}/${name}`)
    .toSorted()

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
    "a snapshot, a fork, a rollback, an import and a pull are refused on a full disk, leave nothing behind, and succeed once there is room",
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
          registry.image("one", { layers: [layerOf([{ name: "file", content: Buffer.alloc(4 * MiB, "layer") }])] })
          const source = { reference: `${registry.host}/tests/image:one`, digest: null, credentials: null }
          const body = Effect.gen(function* () {
            const driver = yield* Runtime
            const { snapshots, images } = driver
            const spec = sandboxSpec("source", { volumeBytes })
            yield* driver.provision(spec)
            yield* output(yield* driver.guest("source", 1), "head -c 8000000 /dev/urandom > file; echo then > word")
            yield* snapshots.capture("then", "source")
            yield* driver.stop("source", 1)
            const whole = yield* snapshots.read("then", null)
            const pieces = yield* Effect.promise(() => gathered(whole.pieces))
            const steps = {
              snapshot: snapshots.capture("now", "source"),
              fork: driver.provision({ ...spec, sandboxId: "child", snapshotId: "then" }),
              rollback: snapshots.restore("then", "source", 1),
              import: Effect.suspend(() => snapshots.receive("import", copyOf(whole, pieces), "namespace")),
              pull: images.pull(source)
            }
            const before = filesOf(disk)
            fill(disk, 18 * MiB)
            for (const [name, step] of Object.entries(steps)) {
              const refused = yield* Effect.flip(step as Effect.Effect<unknown, { readonly message: string }>)
              expect(refused, name).toMatchObject(name === "pull" ? hasNoRoom : isFull)
              expect(refused.message, name).not.toMatch(/ATOLL_|MiB|\d/)
              expect(filesOf(disk), name).toEqual(before)
            }
            makeRoom(disk)

            // Others take the room while it is written.
            const cutOff = copyOf(whole, pieces, () => fillUp(disk))
            expect(yield* Effect.flip(snapshots.receive("import", cutOff, "namespace"))).toMatchObject(isFull)
            makeRoom(disk)
            expect(filesOf(disk)).toEqual(before)
            registry.fault = ({ url }) => {
              if (/blobs/.test(url ?? "")) fillUp(disk)
              return false
            }
            expect(yield* Effect.flip(images.pull(source))).toMatchObject(hasNoRoom)
            registry.fault = () => false
            makeRoom(disk)
            expect(filesOf(disk)).toEqual(before)
            expect(yield* snapshots.inventory).toEqual(["then"])
            expect(yield* images.inventory).toEqual([])

            for (const step of Object.values(steps)) yield* step
            yield* snapshots.accept("import", null)
            yield* driver.provision({ ...spec, generation: 2 })
            yield* driver.provision({ ...spec, sandboxId: "of-import", snapshotId: "import" })
            for (const [id, generation] of [
              ["source", 2],
              ["child", 1],
              ["of-import", 1]
            ] as const) {
              expect(yield* output(yield* driver.guest(id, generation), "cat word")).toBe("then")
            }
            for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
          })
          const environment = {
            ATOLL_DISK_RESERVE_BYTES: String(16 * MiB),
            ATOLL_IMAGE_REGISTRIES: registry.host
          }
          yield* Effect.provide(body, driverOn(disk, environment))
        })
      )
  )
})
