import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { processContract } from "../../../support/runtime/contract/processContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { signalContract } from "../../../support/runtime/contract/signalContract.ts"

describe.skipIf(skipped(unusable))("commands in a namespace", () => {
  const host = ManagedRuntime.make(freshDriver())
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (driver) => driver.guest("commands", 1)
  )
  beforeAll(() => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("commands")))))
  afterAll(() => host.dispose())
  processContract("namespace, trees by cgroup", guest)
  // Node starts commands where the native launcher does not run.
  if (process.arch === "x64") signalContract("namespace", guest)
})
