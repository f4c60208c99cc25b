import { afterAll, beforeAll, describe } from "@effect/vitest"
import { Effect, ManagedRuntime } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { channelContract } from "../../../support/runtime/contract/channelContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

describe.skipIf(skipped(unusable))("interactive commands in a namespace", () => {
  const host = ManagedRuntime.make(freshDriver())
  const guest = Effect.flatMap(
    Effect.promise(() => host.runPromise(Runtime)),
    (driver) => driver.guest("channels", 1)
  )
  beforeAll(() => host.runPromise(Effect.flatMap(Runtime, (driver) => driver.provision(sandboxSpec("channels")))))
  afterAll(() => host.dispose())
  channelContract("namespace", guest)
})
