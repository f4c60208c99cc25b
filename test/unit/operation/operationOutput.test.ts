import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type { OperationRecord } from "../../../src/operation/OperationView.ts"
import { operationOutput } from "../../../src/operation/operationOutput.ts"
import { Output } from "../../../src/store/Output.ts"

const page = (bytes: string, totalBytes: number) => ({
  offset: 0,
  nextOffset: bytes.length,
  bytes: Buffer.from(bytes),
  truncated: false,
  totalBytes
})
/** Another process has stored ten more bytes than this one. */
const output = Layer.mock(Output)({
  newest: () => page("memory", 6),
  read: () => Effect.succeed(page("stored", 16)),
  onAppend: () => assert.fail(),
  storedElsewhere: () => assert.fail(),
  meetOthers: () => assert.fail()
})

const read = (status: "running" | "cancelled" | "completed", processTree = "gone", stored = 16) =>
  Effect.gen(function* () {
    const record = { id: "op", status, context: { processTree } } as unknown as OperationRecord
    const known = { ...(yield* Output), read: () => Effect.succeed(page("stored", stored)) }
    const { bytes, eof } = yield* operationOutput(known, record, { stream: "stdout", offset: 0, limit: 6 })
    return { text: Buffer.from(bytes).toString(), eof }
  }).pipe(Effect.provide(output))

it.effect("the output of an operation comes from memory while it runs", () =>
  Effect.map(read("running"), (found) => assert.deepStrictEqual(found, { text: "memory", eof: false }))
)

it.effect("the output of an operation that is over ends where the database says that it ends", () =>
  Effect.map(read("completed"), (found) => assert.deepStrictEqual(found, { text: "stored", eof: false }))
)

it.effect(
  "the output of a cancelled operation has no end while its processes run, and has one once they are gone",
  () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* read("cancelled", "running", 6), { text: "memory", eof: false })
      assert.deepStrictEqual(yield* read("cancelled", "gone", 6), { text: "stored", eof: true })
    })
)
