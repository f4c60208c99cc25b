import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Output } from "../../../src/store/Output.ts"
import { runningSandboxOf } from "../../support/GatewayServer.ts"
import { testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const bytes = 50_000
const rate = { ATOLL_OUTPUT_BURST_BYTES: "0", ATOLL_OUTPUT_BYTES_PER_SECOND: "40000" }
const world = Layer.unwrap(Effect.map(SimulatedWorld.make, (made) => testAtoll(made, rate)))

layer(world.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("executes", (it) => {
  it.effect("are answered immediately while their Sandbox's output can be stored, and at its rate beyond that", () =>
    Effect.gen(function* () {
      const operations = yield* Operations
      const output = yield* Output
      const { accountId, sandboxId } = yield* runningSandboxOf({ networkEnabled: false })
      const say = operations.execute(
        accountId,
        sandboxId,
        {
          argv: ["cat"],
          cwd: "/workspace",
          env: {},
          stdin: "x".repeat(bytes),
          encoding: "utf8",
          timeoutSeconds: 60
        },
        { requestId: "req_test", exhaustedAt: null }
      )
      // The output of each is 50,320 bytes, 1,258 ms at the rate.
      let left = 0
      while (left <= 1000) {
        yield* say
        left = yield* output.heldBackMs(sandboxId)
      }
      const begun = performance.now()
      yield* say
      assert.isAtLeast(performance.now() - begun, left)
    })
  )
})
