import { randomBytes } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { busybox, withShell } from "../../../support/host/image/busyboxImage.ts"
import { layoutArchive } from "../../../support/host/image/layoutArchive.ts"
import { layerOf, TestRegistry } from "../../../support/host/image/TestRegistry.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import {
  dataFolder,
  driverOn,
  freshDriver,
  isRoot,
  skipped,
  unusable
} from "../../../support/host/namespace/TestHost.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { hasOnlyTheImage, runsWithoutShell, withoutShell } from "../../../support/runtime/contract/imageContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../../support/upload.ts"

const MiB = 1024 ** 2
const obstacle =
  unusable ??
  (isRoot ? null : "images need root") ??
  (missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

/** Whose memory a program may open: a line for each other program. */
const openMemories = `for it in /proc/[0-9]*; do
  name=$(tr '\\0' '\\n' < $it/cmdline 2>/dev/null | head -n 1)
  case $name in ""|tr|head) continue ;; esac
  if (: < $it/mem) 2>/dev/null; then echo open $name; else echo closed $name; fi
done`

describe.skipIf(skipped(obstacle))("a namespace Sandbox from an image", async () => {
  const registry = await TestRegistry.start()
  afterAll(() => registry.close())
  const allowed = { ATOLL_IMAGE_REGISTRIES: registry.host }
  const source = (tag: string) => ({
    reference: `${registry.host}/tests/image:${tag}`,
    digest: null,
    credentials: null
  })

  it.live(
    "has the image's files and none of the host's, runs commands in it, and keeps it over boots and snapshots",
    () =>
      Effect.gen(function* () {
        const options = { config: { Env: ["COLOUR=blue"], WorkingDir: "/srv" }, indexed: true }
        registry.image("shell", { layers: [layerOf(withShell)], ...options })
        const driver = yield* Runtime
        const pulled = yield* driver.images.pull(source("shell"))
        expect(pulled.config).toEqual({ env: { COLOUR: "blue" }, workingDir: "/srv" })
        expect(pulled.storedBytes).toBeGreaterThan(0)
        expect(yield* driver.images.inventory).toEqual([pulled.digest])
        const image = { ...source("shell"), digest: pulled.digest }
        yield* driver.provision(sandboxSpec("one", { image }))
        const guest = yield* driver.guest("one", 1)
        yield* hasOnlyTheImage(guest, "sandbox")
        yield* guest.files.write("/workspace/file", upload([Buffer.from("kept")]))
        const captured = yield* driver.snapshots.capture("snapshot", "one")
        expect(captured.sizeBytes).toBeGreaterThan(0)
        yield* driver.provision(sandboxSpec("child", { image, snapshotId: "snapshot" }))
        yield* driver.provision(sandboxSpec("one", { image, generation: 2 }))
        for (const [sandboxId, generation] of [
          ["child", 1],
          ["one", 2]
        ] as const) {
          expect(yield* output(yield* driver.guest(sandboxId, generation), "cat /greeting /workspace/file")).toBe(
            "hello\nkept"
          )
        }
      }).pipe(Effect.provide(freshDriver(allowed)))
  )

  it.live("runs programs of an image without a shell, and refuses a terminal there with the reason", () =>
    Effect.gen(function* () {
      registry.image("bare", { layers: [layerOf(withoutShell)] })
      const driver = yield* Runtime
      // The host has not pulled it: the boot does.
      const { digest } = yield* driver.images.pull(source("bare"))
      yield* driver.images.remove(digest)
      expect(yield* driver.images.inventory).toEqual([])
      yield* driver.provision(sandboxSpec("bare", { image: { ...source("bare"), digest } }))
      yield* runsWithoutShell(yield* driver.guest("bare", 1))
    }).pipe(Effect.provide(freshDriver(allowed)))
  )

  it.live(
    "shares one mount among its Sandboxes, keeps it over a restart and a removal, and ends it with the last one",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
            Effect.promise(() => rm(path, { recursive: true, force: true }))
          )
          const digest = registry.image("shared", { layers: [layerOf([...withShell, { name: "one", content: "1" }])] })
          const image = { ...source("shared"), digest }
          const mounts = () =>
            readFileSync("/proc/mounts", "utf8").match(new RegExp(`/images/${digest.slice(7)} `, "g")) ?? []
          const images = join(folder, "runtime", "namespace", ".images")
          yield* Effect.gen(function* () {
            const driver = yield* Runtime
            for (const id of ["one", "two"]) yield* driver.provision(sandboxSpec(id, { image }))
            expect(mounts().length).toBe(1)
            writeFileSync(join(images, `${"a".repeat(64)}.0b6b.spool`), "unfinished")
          }).pipe(Effect.provide(driverOn(folder, allowed)))
          expect(mounts().length).toBe(1)
          yield* Effect.gen(function* () {
            const driver = yield* Runtime
            expect(readdirSync(images).toSorted()).toEqual([`${digest.slice(7)}.json`, `${digest.slice(7)}.sqfs`])
            // The agent is closed to the programs of the image, as it is to those of the host.
            const guest = yield* driver.guest("one", 1)
            const opened = yield* output(guest, openMemories)
            expect(opened.split("\n").toSorted()).toEqual(["closed /.atoll/node", "closed /.atoll/spawner", "open sh"])
            yield* driver.destroy("two")
            yield* driver.images.remove(digest)
            expect(mounts()).toEqual([])
            expect(yield* output(guest, "cat /one")).toBe("1")
            yield* driver.provision(sandboxSpec("three", { image }))
            expect(mounts().length).toBe(1)
            for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
          }).pipe(Effect.provide(driverOn(folder, allowed)))
          expect(mounts()).toEqual([])
        })
      )
  )

  it.live(
    "comes as an archive, also over a restart, is there for a Sandbox, and is reported lost where it is not",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
            Effect.promise(() => rm(path, { recursive: true, force: true }))
          )
          const { archive, digest } = layoutArchive({ layers: [layerOf(withShell)], config: { Env: ["COLOUR=blue"] } })
          const image = { reference: digest, digest, credentials: null }
          const files = () => readdirSync(join(folder, "runtime", "namespace", ".images")).toSorted()
          yield* Effect.gen(function* () {
            const driver = yield* Runtime
            yield* driver.images.receive("img_1", upload([archive.subarray(0, 1000), archive.subarray(1000)]).bytes)
            expect(files()).toEqual(["img_1.upload"])
          }).pipe(Effect.provide(driverOn(folder)))
          yield* Effect.gen(function* () {
            const driver = yield* Runtime
            const made = yield* driver.images.accept("img_1")
            expect(made).toMatchObject({ digest, config: { env: { COLOUR: "blue" } } })
            expect(yield* driver.images.accept("img_1")).toEqual(made)
            expect(files()).toEqual([`${digest.slice(7)}.json`, `${digest.slice(7)}.sqfs`, "img_1.taken"])
            yield* driver.images.discard("img_1")
            expect(files().length).toBe(2)
            yield* driver.provision(sandboxSpec("one", { image }))
            expect(yield* output(yield* driver.guest("one", 1), "cat /greeting")).toBe("hello")
            yield* driver.destroy("one")
            yield* driver.images.remove(digest)
            const lost = yield* Effect.flip(driver.provision(sandboxSpec("two", { image })))
            expect(lost).toMatchObject({ code: "IMAGE_NOT_FOUND", message: expect.stringMatching(/Upload it again/) })
            yield* driver.destroy("two")
          }).pipe(Effect.provide(driverOn(folder)))
        })
      )
  )

  it.live("takes no room that Sandboxes have reserved, and leaves nothing of an image for which there is none", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
          Effect.promise(() => rm(path, { recursive: true, force: true }))
        )
        const disk = yield* smallDisk(folder, 500 * MiB)
        const random = (bytes: number) => layerOf([{ name: "random", content: randomBytes(bytes) }])
        registry.image("large", { layers: [random(100 * MiB)], compression: "none" })
        registry.image("small", { layers: [random(10 * MiB)], compression: "none" })
        yield* Effect.gen(function* () {
          const driver = yield* Runtime
          yield* driver.provision(sandboxSpec("one", { volumeBytes: 128 * MiB }))
          const refused = yield* Effect.flip(driver.images.pull(source("large")))
          expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "IMAGE_NO_ROOM" })
          expect(refused.message).not.toMatch(/ATOLL_|MiB|\d/)
          expect(yield* driver.images.inventory).toEqual([])
          const { digest } = yield* driver.images.pull(source("small"))
          expect(yield* driver.images.inventory).toEqual([digest])
          yield* driver.destroy("one")
          yield* driver.images.pull(source("large"))
        }).pipe(Effect.provide(driverOn(disk, { ...allowed, ATOLL_DISK_RESERVE_BYTES: String(150 * MiB) })))
      })
    )
  )

  it.live("ends an interrupted pull before the interruption, with all that it has unpacked", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
          Effect.promise(() => rm(path, { recursive: true, force: true }))
        )
        registry.image("slow", { layers: [layerOf([{ name: "slow", content: "slow" }])] })
        let blobs = 0
        const asked = yield* Deferred.make<void>()
        registry.fault = (request, response) => {
          if (!/blobs/.test(request.url ?? "")) return false
          blobs += 1
          // The first is the configuration.
          if (blobs === 1) return false
          response.writeHead(200).write("beginning")
          Deferred.doneUnsafe(asked, Effect.void)
          return true
        }
        yield* Effect.gen(function* () {
          const driver = yield* Runtime
          const pulling = yield* Effect.forkChild(driver.images.pull(source("slow")))
          yield* Deferred.await(asked)
          yield* Fiber.interrupt(pulling)
          expect(yield* driver.images.inventory).toEqual([])
        }).pipe(
          Effect.provide(driverOn(folder, allowed)),
          Effect.ensuring(Effect.sync(() => (registry.fault = () => false)))
        )
      })
    )
  )
})
