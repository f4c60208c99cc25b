/** Output that arrives while the database flushes what came before. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Queue, Stream } from "effect"
import { followProcess } from "../../../src/operation/ProcessFollower.ts"
import type { Guest, GuestProcesses, ProcessFrame } from "../../../src/runtime/Guest.ts"
import { Output } from "../../../src/store/Output.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { testSettings } from "../../support/TestSettings.ts"
import { until } from "../../support/until.ts"

const words: ProcessFrame = { type: "output", stream: "stdout", offset: 0, bytes: Buffer.from("a few words\n") }

layer(Output.layer.pipe(Layer.provide(testSettings()), Layer.provideMerge(TestDatabase.layer)), {
  excludeTestServices: true
})("a follower", (it) => {
  it.effect("lets the guest keep what came while the database flushed what was before", () =>
    Effect.gen(function* () {
      const output = yield* Output
      const later: ProcessFrame = { type: "output", stream: "stdout", offset: 12, bytes: Buffer.from("and more\n") }
      const frames = yield* Queue.unbounded<ProcessFrame>()
      const told: Array<number> = []
      const processes: Partial<GuestProcesses> = {
        attach: () => Stream.fromQueue(frames),
        acknowledge: (_key, { stdoutOffset }) => Effect.sync(() => void told.push(stdoutOffset))
      }
      let appends = 0
      const watched = Output.of({
        ...output,
        append: (...chunks) => Effect.tap(output.append(...chunks), () => Effect.sync(() => appends++)),
        durable: Effect.fnUntraced(function* (ownerId) {
          const flushed = yield* output.durable(ownerId)
          if (appends === 1) {
            yield* Queue.offer(frames, later)
            yield* until(
              Effect.sync(() => appends),
              (count) => count === 2
            ).pipe(Effect.orDie)
          }
          return flushed
        })
      })
      yield* Effect.forkScoped(
        followProcess({
          ...{ guest: { processes } as Guest, output: watched, key: "op_during" },
          ...{ sandboxId: "sbx", source: "process", retainBytes: 1024 }
        })
      )
      yield* Queue.offer(frames, words)
      yield* until(
        Effect.sync(() => told),
        ({ length }) => length === 2
      )
      assert.deepStrictEqual(told, [12, 21])
    })
  )
})
