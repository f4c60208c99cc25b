import { existsSync } from "node:fs"
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { missingPackages } from "../../../../src/host/linux/programs.ts"
import type { Guest } from "../../../../src/runtime/Guest.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { busybox, withShell } from "../../../support/host/image/busyboxImage.ts"
import { layerOf, TestRegistry } from "../../../support/host/image/TestRegistry.ts"
import {
  destroyAll,
  driverOn,
  freshDriver,
  scopedFolder,
  TIMEOUT_MS,
  unusable
} from "../../../support/host/qemu/TestMachines.ts"
import { eventually, output } from "../../../support/runtime/contract/commands.ts"
import { hasOnlyTheImage, runsWithoutShell, withoutShell } from "../../../support/runtime/contract/imageContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { upload } from "../../../support/upload.ts"

const obstacle =
  unusable ??
  (missingPackages({ mksquashfs: "squashfs-tools" }).length > 0 ? "squashfs-tools is not here" : null) ??
  (existsSync(busybox) ? null : "busybox-static is not here")

/** Counts in its own memory, and shows the number in a file that is in memory, too. */
const counter = "(i=0; while :; do i=$((i+1)); echo $i > /dev/shm/n; sleep 0.05; done) > /dev/null 2>&1 &"

const number = (guest: Guest) => Effect.map(output(guest, "cat /dev/shm/n"), Number)

describe.skipIf(obstacle !== null)("a machine from an image", async () => {
  const registry = await TestRegistry.start()
  afterAll(() => registry.close())
  const allowed = { ATOLL_IMAGE_REGISTRIES: registry.host }
  const source = (tag: string) => ({
    reference: `${registry.host}/tests/image:${tag}`,
    digest: null,
    credentials: null
  })

  it.live(
    "has the image's files and none of the host's, and keeps them when the host has removed the image: over a restart of the service, a sleep, and in forks with memory",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const folder = yield* scopedFolder
          const digest = registry.image("shell", { layers: [layerOf(withShell)], config: { Env: ["COLOUR=blue"] } })
          const image = { ...source("shell"), digest }
          const on = <A, E>(body: Effect.Effect<A, E, Runtime>) => Effect.provide(body, driverOn(folder, allowed))
          yield* on(
            Effect.gen(function* () {
              const driver = yield* Runtime
              yield* driver.provision(sandboxSpec("one", { image }))
              expect(yield* driver.images.inventory).toEqual([digest])
              const guest = yield* driver.guest("one", 1)
              yield* hasOnlyTheImage(guest, "one")
              yield* guest.files.write("/workspace/file", upload([Buffer.from("kept")]))
              yield* output(guest, `echo written > /tmp/file; ${counter}`)
              yield* driver.images.remove(digest)
              expect(yield* driver.images.inventory).toEqual([])
            })
          )
          yield* on(
            Effect.gen(function* () {
              const driver = yield* Runtime
              // Adopted, and woken later, without the registry.
              registry.fault = (_, response) => {
                response.writeHead(500).end()
                return true
              }
              yield* driver.provision(sandboxSpec("one", { image }))
              expect(yield* output(yield* driver.guest("one", 1), "cat /greeting /tmp/file")).toBe("hello\nwritten")
              yield* driver.suspend("one", 1)
              yield* driver.provision(sandboxSpec("one", { image }))
              registry.fault = () => false
              const before = yield* number(yield* driver.guest("one", 1))
              yield* driver.snapshots.capture("snap", "one", true)
              yield* driver.provision(sandboxSpec("child", { image, snapshotId: "snap" }))
              const child = yield* driver.guest("child", 1)
              yield* eventually(Effect.map(number(child), (now) => now > before))
              expect(yield* output(child, "cat /greeting /tmp/file /workspace/file /etc/hostname")).toBe(
                "hello\nwritten\nkeptchild"
              )
              yield* destroyAll(driver)
            })
          )
        })
      ),
    TIMEOUT_MS
  )

  it.live(
    "runs programs of an image without a shell, which its boot has pulled",
    () =>
      Effect.gen(function* () {
        const digest = registry.image("bare", { layers: [layerOf(withoutShell)] })
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("bare", { image: { ...source("bare"), digest } }))
        yield* runsWithoutShell(yield* driver.guest("bare", 1))
      }).pipe(Effect.provide(freshDriver(allowed))),
    TIMEOUT_MS
  )

  it.live("is refused, and leaves nothing, where the host's disk has no room for the image", () =>
    Effect.gen(function* () {
      registry.image("large", { layers: [layerOf(withShell)] })
      const driver = yield* Runtime
      const refused = yield* Effect.flip(driver.images.pull(source("large")))
      expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "IMAGE_NO_ROOM" })
      expect(yield* driver.images.inventory).toEqual([])
    }).pipe(Effect.provide(freshDriver({ ...allowed, ATOLL_DISK_RESERVE_BYTES: String(2 ** 50) })))
  )
})
