import { rm } from "node:fs/promises"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { smallDisk } from "../../../support/host/linux/smallDisk.ts"
import { dataFolder, driverOn, isRoot, unusable } from "../../../support/host/namespace/TestHost.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

const MiB = 1024 ** 2

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
})
