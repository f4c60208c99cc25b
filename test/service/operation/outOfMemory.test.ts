/** The answer to a client whose command ran out of memory, with a real command. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import type { Operation } from "../../../schemas/Operation.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../support/SandboxCalls.ts"
import { ServedAtoll } from "../../support/ServedAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const hog = ["python3", "-c", "b=[]\nwhile True: b.append(bytearray(1<<24))"]

const settings = {
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  ATOLL_SANDBOX_MEMORY_BYTES: String(128 * 1024 ** 2)
}

describe.skipIf(skipped(unusable) || !isRoot)("running out of memory", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("is the reason in the results of an execute and of an operation", () =>
      Effect.flatMap(ServedAtoll, (atoll) =>
        Effect.promise(async () => {
          const { ask, start } = await newSandboxOf(atoll)
          const { result } = await ask("POST", "/execute", 200, { argv: hog, timeoutSeconds: 60 })
          assert.strictEqual(result.signal, "SIGKILL")
          assert.strictEqual(result.reason?.code, "OUT_OF_MEMORY")
          let { operation }: { operation: Operation } = await start(...hog)
          const { id } = operation
          while (operation.status !== "completed") {
            operation = (await ask("POST", `/operations/${id}/wait`, 200, { timeoutSeconds: 30 })).operation
          }
          assert.deepInclude(operation, { exitCode: null, signal: "SIGKILL" })
          assert.strictEqual(operation.reason?.code, "OUT_OF_MEMORY")
        })
      )
    )
  })
})
