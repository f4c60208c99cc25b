/** A silent output stream sends a heartbeat every 15 s, and is woken by stored output, not by time. */
import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { heartbeatSeconds } from "../../../schemas/Limits.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { type OutputEvent, outputReadings } from "../../../src/operation/OutputReading.ts"
import { Actors } from "../../../src/store/Actors.ts"
import { Output } from "../../../src/store/Output.ts"

const unasked = () => assert.fail("Never called.")

/** A running operation, and its stdout so far. */
const running = () => {
  let written = 0
  let told = () => {}
  const layer = Layer.mergeAll(
    Layer.mock(ActorHost)({
      onCommit: () => Effect.void,
      owns: () => true,
      prepare: unasked,
      peek: unasked,
      awaken: unasked
    }),
    Layer.mock(Actors)({ read: () => Effect.succeed({ status: "running", context: {} } as never) }),
    Layer.mock(Output)({
      read: (_, stream, offset) => {
        const totalBytes = stream === "stdout" ? written : 0
        const bytes = new Uint8Array(totalBytes - offset)
        return Effect.succeed({ offset, nextOffset: totalBytes, bytes, truncated: false, totalBytes })
      },
      newest: () => null,
      onAppend: (ownerId, listener) => {
        if (ownerId === "op_1") told = listener
        return () => {}
      },
      storedElsewhere: unasked,
      meetOthers: unasked
    })
  )
  const write = (bytes: number) => {
    written += bytes
    told()
  }
  return { layer, write }
}

it.effect(
  "an output stream sends a heartbeat after 15 s without a byte and not sooner, and sends a byte immediately, which restarts the interval",
  () => {
    const { layer, write } = running()
    return Effect.gen(function* () {
      assert.strictEqual(heartbeatSeconds, 15)
      const reading = (yield* outputReadings)("op_1", { stdout: 0, stderr: 0 })
      const told: Array<OutputEvent["type"] | undefined> = []
      const next = () => reading.next((event) => void told.push(event?.type))
      const pass = Effect.fnUntraced(function* (seconds: number) {
        for (let second = 0; second < seconds; second++) yield* TestClock.adjust("1 second")
      })
      next()
      yield* pass(14)
      assert.deepStrictEqual(told, [])
      yield* pass(1)
      assert.deepStrictEqual(told, ["quiet"])
      next()
      yield* pass(14)
      write(3)
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(told, ["quiet", "output"])
      next()
      for (let second = 0; second < 14; second++) {
        // A wake without output, as another operation's output causes it.
        write(0)
        yield* pass(1)
      }
      assert.deepStrictEqual(told, ["quiet", "output"])
      yield* pass(1)
      assert.deepStrictEqual(told, ["quiet", "output", "quiet"])
      reading.close()
    }).pipe(Effect.provide(layer), Effect.scoped)
  }
)

it.effect("an output stream sends what is in memory without asking the database, from where the client is", () => {
  const bytes = Buffer.from("0123456789")
  const layer = Layer.mergeAll(
    Layer.mock(ActorHost)({
      onCommit: () => Effect.void,
      owns: () => true,
      prepare: unasked,
      peek: unasked,
      awaken: unasked
    }),
    Layer.mock(Actors)({ read: unasked }),
    Layer.mock(Output)({
      newest: (_, stream, offset) =>
        stream === "stdout"
          ? null
          : { offset, nextOffset: 10, bytes: bytes.subarray(offset), truncated: false, totalBytes: 10 },
      read: unasked,
      onAppend: () => () => {},
      storedElsewhere: unasked,
      meetOthers: unasked
    })
  )
  return Effect.gen(function* () {
    const reading = (yield* outputReadings)("op_1", { stdout: 3, stderr: 4 })
    const event = yield* Effect.callback<OutputEvent | null>((resume) =>
      reading.next((found) => resume(Effect.succeed(found)))
    )
    assert.deepStrictEqual(event, {
      ...{ type: "output", stream: "stderr", offset: 4, nextOffset: 10, bytes: bytes.subarray(4), truncated: false },
      at: { stdout: 3, stderr: 10 }
    })
    reading.close()
  }).pipe(Effect.provide(layer), Effect.scoped)
})
