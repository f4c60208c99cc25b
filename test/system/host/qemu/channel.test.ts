import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { channelContract } from "../../../support/runtime/contract/channelContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

describe.skipIf(unusable !== null)("interactive commands in a VM", () => {
  const host = ManagedRuntime.make(freshDriver())
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (driver) => driver.guest("channels", 1)
  )
  beforeAll(
    () => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("channels")))),
    TIMEOUT_MS
  )
  afterAll(() => host.dispose(), TIMEOUT_MS)
  channelContract("qemu", guest, TIMEOUT_MS)
})
