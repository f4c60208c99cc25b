/** One boot; test/system/host/qemu has all other tests of virtual machines. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { output } from "../../../support/runtime/contract/commands.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

describe.skipIf(unusable !== null)("a virtual machine", () => {
  it.live(
    "boots, runs a command, and is gone when it is destroyed",
    () =>
      Effect.gen(function* () {
        const driver = yield* Runtime
        yield* driver.provision(sandboxSpec("booted"))
        const guest = yield* driver.guest("booted", 1)
        expect(yield* output(guest, "uname -s && pwd")).toBe("Linux\n/workspace")
        yield* driver.destroy("booted")
        expect(yield* driver.inventory).toEqual([])
      }).pipe(Effect.provide(freshDriver())),
    // A boot under emulation.
    TIMEOUT_MS
  )
})
