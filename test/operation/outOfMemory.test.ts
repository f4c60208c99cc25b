/** What a client is told of a command that ran out of memory, with a real one. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer, Schedule } from "effect"
import { describe } from "vitest"
import { Operations } from "../../src/operation/Operations.ts"
import { isRoot, skipped, unusable } from "../host/namespace/TestHost.ts"
import { runningSandboxOf } from "../support/GatewayServer.ts"
import { namespaceAtoll } from "../support/NamespaceAtoll.ts"
import { TestDatabase } from "../support/TestDatabase.ts"

const hog = ["python3", "-c", "b=[]\nwhile True: b.append(bytearray(1<<24))"] as const
const command = { argv: [...hog], cwd: "/workspace", env: {}, stdin: null, encoding: "utf8" as const }

describe.skipIf(skipped(unusable) || !isRoot)("running out of memory", () => {
  layer(
    namespaceAtoll({ ATOLL_SANDBOX_MEMORY_BYTES: String(128 * 1024 ** 2) }).pipe(
      Layer.provideMerge(TestDatabase.layer)
    ),
    { excludeTestServices: true }
  )((it) => {
    it.effect("is the reason that an execute and an operation are told with", () =>
      Effect.gen(function* () {
        const { accountId, sandboxId } = yield* runningSandboxOf({ networkEnabled: false })
        const operations = yield* Operations
        const result = yield* operations.execute(
          accountId,
          sandboxId,
          { ...command, timeoutSeconds: 60 },
          { requestId: "req_test", exhaustedAt: null }
        )
        assert.strictEqual(result.signal, "SIGKILL")
        assert.strictEqual(result.reason?.code, "OUT_OF_MEMORY")
        const started = yield* operations.start(accountId, sandboxId, {
          requestId: "req_test",
          exhaustedAt: null,
          idempotencyKey: "k",
          fingerprint: "f",
          request: { ...command, timeoutSeconds: null }
        })
        const ended = yield* Effect.repeat(operations.get(accountId, sandboxId, started.id), {
          schedule: Schedule.spaced(5),
          until: ({ status }) => status === "completed"
        })
        assert.deepInclude(ended, { exitCode: null, signal: "SIGKILL" })
        assert.strictEqual(ended.reason?.code, "OUT_OF_MEMORY")
      })
    )
  })
})
