import { assert, layer } from "@effect/vitest"
import { Context, Effect, Layer, PubSub } from "effect"
import { SimulatedWorld } from "../../../../src/host/simulated/SimulatedWorld.ts"
import { consoleOwner } from "../../../../src/observe/logs/ConsoleLog.ts"
import { Output } from "../../../../src/store/Output.ts"
import { testAtoll } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"

class World extends Context.Service<World, SimulatedWorld>()("atoll/test/World") {}

const world = Layer.unwrap(
  Effect.map(SimulatedWorld.make, (made) =>
    Layer.merge(
      testAtoll(made, { ATOLL_OUTPUT_BURST_BYTES: "2000", ATOLL_OUTPUT_BYTES_PER_SECOND: "1024" }),
      Layer.succeed(World, made)
    )
  )
)

layer(world.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("consoles", (it) => {
  it.effect("a console that writes more than its Sandbox may store is cut, and delays no other", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const { console } = yield* World
      const say = (sandboxId: string, offset: number, length: number) =>
        PubSub.publish(console, { sandboxId, generation: 1, offset, bytes: Buffer.alloc(length, "x") })
      const stored = (sandboxId: string) =>
        Effect.map(output.offsets(consoleOwner(sandboxId, 1)), ({ stdout }) => stdout)
      // The write is repeated until it is heard: text that is stored already is skipped.
      while ((yield* stored("sbx_loud")) === 0) yield* say("sbx_loud", 0, 20_000)
      yield* say("sbx_loud", 20_000, 10)
      while ((yield* stored("sbx_calm")) === 0) yield* say("sbx_calm", 0, 10)
      assert.strictEqual(yield* stored("sbx_loud"), 20_000)
      assert.isAbove(yield* output.heldBackMs("sbx_loud"), 0)
    })
  )
})
