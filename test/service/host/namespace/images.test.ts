import { randomBytes } from "node:crypto"
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Stream } from "effect"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import type { ProcessChannel } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
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
import { commandSpec, output, run } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../../support/upload.ts"

const MiB = 1024 ** 2
const busybox = "/bin/busybox"
const obstacle =
  unusable ??
  (isRoot ? null : "images need root") ??
  (missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

/** A program for images without a shell: busybox under the name of one of its commands. */
const program = (name: string) => ({ name, content: readFileSync(busybox), mode: 0o755 })

const withShell = [
  program("bin/busybox"),
  ...["sh", "cat", "head", "id", "ls", "stty", "tr", "wc"].map((name) => ({
    name: `bin/${name}`,
    type: "2" as const,
    target: "busybox"
  })),
  { name: "etc/passwd", content: "root:x:0:0::/root:/bin/sh\n" },
  { name: "greeting", content: "hello\n" },
  // A host that runs programs of an image would run these.
  { name: "bin/mount", content: "#!/bin/sh\necho run as $(id -u) > /tmp/mount-ran\n", mode: 0o755 },
  { name: "usr/bin/mount", content: "#!/bin/sh\necho run as $(id -u) > /tmp/mount-ran\n", mode: 0o755 }
]

const names = ["bin", "dev", "etc", "greeting", "proc", "run", "sys", "tmp", "usr", "workspace"]

/** Whose memory a program may open: a line for each other program. */
const openMemories = `for it in /proc/[0-9]*; do
  name=$(tr '\\0' '\\n' < $it/cmdline 2>/dev/null | head -n 1)
  case $name in ""|tr|head) continue ;; esac
  if (: < $it/mem) 2>/dev/null; then echo open $name; else echo closed $name; fi
done`

const collected = (channel: ProcessChannel) =>
  Stream.runFold(
    channel.frames,
    () => "",
    (text, frame) => (frame.type === "output" ? text + Buffer.from(frame.bytes).toString() : text)
  )

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
        expect((yield* output(guest, "ls /")).split("\n")).toEqual(names)
        expect(yield* output(guest, "cat /greeting; id; cat /etc/hostname; ls -a /tmp | wc -l")).toBe(
          "hello\nuid=1000(sandbox) gid=1000(sandbox)\nsandbox\n2"
        )
        expect((yield* run(guest, commandSpec(["sh", "-c", "echo x > /greeting"]))).stderr).toMatch(/Read-only/)
        yield* guest.files.write("/workspace/file", upload([Buffer.from("kept")]))
        const terminal = yield* Effect.scoped(
          Effect.flatMap(
            guest.processes.open({
              argv: ["/bin/sh", "-c", "stty size; echo $SHELL"],
              cwd: "/workspace",
              env: {},
              terminal: { columns: 101, rows: 37 },
              purpose: "terminal"
            }),
            collected
          )
        )
        expect(terminal).toBe("37 101\r\n/bin/sh\r\n")
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
      registry.image("bare", { layers: [layerOf([program("app/cat"), { name: "text", content: "bare" }])] })
      const driver = yield* Runtime
      // The host has not pulled it: the boot does.
      const { digest } = yield* driver.images.pull(source("bare"))
      yield* driver.images.remove(digest)
      expect(yield* driver.images.inventory).toEqual([])
      yield* driver.provision(sandboxSpec("bare", { image: { ...source("bare"), digest } }))
      const guest = yield* driver.guest("bare", 1)
      expect((yield* run(guest, commandSpec(["/app/cat", "/text"]))).stdout).toBe("bare")
      const terminal = guest.processes.open({
        argv: ["/app/cat"],
        cwd: "/workspace",
        env: {},
        terminal: { columns: 80, rows: 24 },
        purpose: "terminal"
      })
      expect(yield* Effect.flip(Effect.scoped(terminal))).toMatchObject({ _tag: "SpawnRefused", code: "SHELL_MISSING" })
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
