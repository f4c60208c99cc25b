import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Stream } from "effect"
import { followProcess } from "../../src/operation/ProcessFollower.ts"
import type { Guest, GuestProcesses, ProcessFrame } from "../../src/runtime/Guest.ts"
import { Output } from "../../src/store/Output.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const words: ProcessFrame = { type: "output", stream: "stdout", offset: 0, bytes: Buffer.from("a few words\n") }

layer(Output.layer.pipe(Layer.provideMerge(TestDatabase.layer)), { excludeTestServices: true })("a follower", (it) => {
  it.effect("tells the guest soon that little output is stored, though the command goes on and says no more", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const told = Promise.withResolvers<unknown>()
      const processes: Partial<GuestProcesses> = {
        attach: () => Stream.concat(Stream.make(words), Stream.never),
        acknowledge: (_key, upTo) => Effect.sync(() => told.resolve(upTo))
      }
      yield* Effect.forkScoped(
        followProcess({
          guest: { processes } as Guest,
          output,
          key: "op_quiet",
          sandboxId: "sbx",
          source: "process",
          retainBytes: 1024
        })
      )
      assert.deepStrictEqual(yield* Effect.promise(() => told.promise), { stdoutOffset: 12, stderrOffset: 0 })
      assert.strictEqual((yield* output.offsets("op_quiet")).stdout, 12)
    })
  )
})
