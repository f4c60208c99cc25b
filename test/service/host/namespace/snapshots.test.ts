import { readdirSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
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
import { openContract } from "../../../support/runtime/contract/openContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { snapshotContract } from "../../../support/runtime/contract/snapshotContract.ts"

const MiB = 1024 ** 2
const obstacle = unusable ?? (isRoot ? null : "volumes are images only as root")

const scopedFolder = Effect.acquireRelease(Effect.sync(dataFolder), (path) =>
  Effect.promise(() => rm(path, { recursive: true, force: true }))
)

const booted = Effect.fnUntraced(function* (sandboxId: string, changes: Parameters<typeof sandboxSpec>[1] = {}) {
  const driver = yield* Runtime
  yield* driver.provision(sandboxSpec(sandboxId, changes))
  return yield* driver.guest(sandboxId, 1)
})

describe.skipIf(skipped(obstacle))("namespace driver", () => {
  snapshotContract("namespace", freshDriver())
  openContract("namespace", freshDriver())

  it.live("an image that a killed process left unfinished makes no Sandbox, is listed, and is removed at start", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* scopedFolder
        const snapshots = join(folder, "runtime", "namespace", ".snapshots")
        yield* Effect.gen(function* () {
          const driver = yield* Runtime
          yield* output(yield* booted("source"), "echo kept > file")
          yield* driver.snapshots.capture("whole", "source")
          writeFileSync(join(snapshots, "half.0b6b.partial"), "unfinished")
          writeFileSync(join(snapshots, "whole.0b6b.partial"), "unfinished")
          expect([...(yield* driver.snapshots.inventory)].toSorted()).toEqual(["half", "whole"])
          const missing = yield* Effect.flip(driver.provision(sandboxSpec("child", { snapshotId: "half" })))
          expect(missing).toMatchObject({ code: "SNAPSHOT_MISSING" })
        }).pipe(Effect.provide(driverOn(folder)))
        yield* Effect.gen(function* () {
          const driver = yield* Runtime
          expect(yield* driver.snapshots.inventory).toEqual(["whole"])
          expect(readdirSync(snapshots).toSorted()).toEqual(["whole.img", "whole.json"])
          expect(yield* output(yield* booted("child", { snapshotId: "whole" }), "cat file")).toBe("kept")
          yield* driver.snapshots.remove("whole", null)
          expect(readdirSync(snapshots)).toEqual([])
          for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
        }).pipe(Effect.provide(driverOn(folder)))
      })
    )
  )

  it.live("a snapshot is refused before it takes room that is reserved for Sandboxes", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const folder = yield* scopedFolder
        // Of 500 MiB some 200 are free beyond all reservations for "two" without "one", and 140 to 150 with it, depending on what was written out.
        const disk = yield* smallDisk(folder, 500 * MiB)
        yield* Effect.gen(function* () {
          const driver = yield* Runtime
          const source = yield* booted("source", { volumeBytes: 128 * MiB })
          yield* output(source, "head -c 60000000 /dev/urandom > file")
          yield* driver.snapshots.capture("one", "source")
          yield* booted("other", { volumeBytes: 64 * MiB })
          const refused = yield* Effect.flip(driver.snapshots.capture("two", "source"))
          expect(refused).toMatchObject({ _tag: "RuntimeRefused", code: "HOST_FULL" })
          expect(refused.message).not.toMatch(/ATOLL_|MiB|\d/)
          expect(yield* driver.snapshots.inventory).toEqual(["one"])
          yield* driver.snapshots.remove("one", null)
          yield* driver.snapshots.capture("two", "source")
          for (const { sandboxId } of yield* driver.inventory) yield* driver.destroy(sandboxId)
        }).pipe(Effect.provide(driverOn(disk, { ATOLL_DISK_RESERVE_BYTES: String(175 * MiB) })))
      })
    )
  )
})
