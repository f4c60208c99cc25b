import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../src/runtime/Runtime.ts"
import { processContract } from "../../runtime/contract/processContract.ts"
import { sandboxSpec } from "../../runtime/contract/sandboxSpec.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "./TestMachines.ts"

describe.skipIf(unusable !== null)("commands in a VM", () => {
  const host = ManagedRuntime.make(freshDriver())
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (driver) => driver.guest("commands", 1)
  )
  beforeAll(
    () => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("commands")))),
    TIMEOUT_MS
  )
  afterAll(() => host.dispose(), TIMEOUT_MS)
  processContract("qemu", guest, "/workspace", TIMEOUT_MS)
})
