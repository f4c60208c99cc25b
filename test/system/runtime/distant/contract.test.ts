/** The contract of a driver, for one on another machine: namespaces behind a host's ingress. */
import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { channelContract } from "../../../support/runtime/contract/channelContract.ts"
import { processContract } from "../../../support/runtime/contract/processContract.ts"
import { runtimeContract } from "../../../support/runtime/contract/runtimeContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"
import { snapshotContract } from "../../../support/runtime/contract/snapshotContract.ts"
import { distantOf, hostId } from "../../../support/runtime/distant/TestDistant.ts"

describe.skipIf(skipped(unusable))("a distant host", () => {
  runtimeContract("distant", distantOf(freshDriver()))
  if (isRoot) snapshotContract("distant", distantOf(freshDriver()), { hostId })

  describe("its guests", () => {
    const host = ManagedRuntime.make(distantOf(freshDriver()))
    const guest = Effect.flatMap(
      Effect.promise(() => host.runPromise(Runtime)),
      (driver) => driver.guest("commands", 1)
    )
    beforeAll(() => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("commands")))))
    afterAll(() => host.dispose())
    processContract("distant", guest)
    channelContract("distant", guest)
  })
})
