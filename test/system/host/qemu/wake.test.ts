/** A machine that wakes maps its saved memory, instead of having it read first. */
import { readdirSync, readFileSync } from "node:fs"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { SandboxFolder } from "../../../../src/host/qemu/SandboxFolder.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { destroyAll, driverOn, scopedFolder, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

describe.skipIf(unusable !== null)("a machine that wakes", () => {
  it.live(
    "has its memory from the removed file, with every change since, however often it sleeps",
    () =>
      Effect.scoped(
        Effect.gen(function* () {
          const data = yield* scopedFolder
          const folder = new SandboxFolder(`${data}/runtime/qemu`, "sleeper")
          yield* Effect.gen(function* () {
            const driver = yield* Runtime
            yield* driver.provision(sandboxSpec("sleeper"))
            const run = (script: string) => Effect.flatMap(driver.guest("sleeper", 1), (guest) => output(guest, script))
            const awake = readdirSync(folder.path).toSorted()
            const sums: Array<string> = []
            for (const round of [1, 2, 3]) {
              // Pages that are new, that change, and that are zero again.
              sums.push(
                yield* run(
                  `head -c 20000000 /dev/urandom > /dev/shm/r${round}; head -c 9000000 /dev/zero > /dev/shm/r${round - 2}; cat /dev/shm/r* | sha256sum`
                )
              )
              yield* driver.suspend("sleeper", 1)
              yield* driver.provision(sandboxSpec("sleeper"))
              const { process } = (yield* Effect.promise(() => folder.read()))!
              expect(readFileSync(`/proc/${process!.pid}/maps`, "utf8")).toMatch(/suspended\.state \(deleted\)$/m)
              expect(yield* run("cat /dev/shm/r* | sha256sum")).toBe(sums.at(-1))
              expect(readdirSync(folder.path).toSorted()).toEqual(awake)
            }
            expect(new Set(sums).size).toBe(3)
            yield* destroyAll(driver)
          }).pipe(Effect.provide(driverOn(data)))
        })
      ),
    TIMEOUT_MS
  )
})
