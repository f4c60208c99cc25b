import { assert, describe, layer } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { freshDriver, skipped, unusable } from "../../../support/host/namespace/TestHost.ts"
import { runtimeContract } from "../../../support/runtime/contract/runtimeContract.ts"
import { sandboxSpec } from "../../../support/runtime/contract/sandboxSpec.ts"

describe.skipIf(skipped(unusable))("namespace driver", () => {
  runtimeContract("namespace", freshDriver())

  layer(freshDriver({ ATOLL_PARALLEL_STARTS: "1" }), { excludeTestServices: true })(
    "that boots one at a time",
    (it) => {
      it.effect("skips a boot that was abandoned while it waited in the queue", () =>
        Effect.gen(function* () {
          const runtime = yield* Runtime
          const began: Array<string> = []
          const isBooting = yield* Deferred.make<void>()
          const boot = (name: string, turn: () => void) =>
            Effect.forkChild(runtime.provision(sandboxSpec(name), turn), { startImmediately: true })
          const first = yield* boot("first", () => Deferred.doneUnsafe(isBooting, Effect.void))
          yield* Deferred.await(isBooting)
          const unwanted = yield* boot("unwanted", () => void began.push("unwanted"))
          const last = yield* boot("last", () => void began.push("last"))
          yield* Fiber.interrupt(unwanted)
          yield* runtime.destroy("unwanted")
          yield* Effect.all([Fiber.join(first), Fiber.join(last)])
          assert.deepStrictEqual(began, ["last"])
        })
      )
    }
  )
})
