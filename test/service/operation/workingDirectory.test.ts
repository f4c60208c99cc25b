/** The answers about a working directory, with a real Sandbox. */
import { assert, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe } from "vitest"
import type { Operation } from "../../../schemas/Operation.ts"
import { freshDriver, isRoot, skipped, unusable } from "../../support/host/namespace/TestHost.ts"
import { newSandboxOf } from "../../support/SandboxCalls.ts"
import { ServedAtoll } from "../../support/ServedAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"

const settings = { ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2) }

describe.skipIf(skipped(unusable) || !isRoot)("a working directory", () => {
  layer(ServedAtoll.layer(freshDriver(settings), settings).pipe(Layer.provideMerge(TestDatabase.layer)), {
    excludeTestServices: true
  })((it) => {
    it.effect("that does not exist is refused by an execute, and fails an operation", () =>
      Effect.flatMap(ServedAtoll, (atoll) =>
        Effect.promise(async () => {
          const { ask } = await newSandboxOf(atoll)
          const command = { argv: ["true"], cwd: "/workspace/nowhere" }
          const refused = await ask("POST", "/execute", 400, command)
          assert.strictEqual(refused.code, "INVALID_REQUEST")
          assert.deepStrictEqual(refused.details.issues[0].path, ["cwd"])
          let { operation }: { operation: Operation } = await ask("POST", "/operations", 202, command)
          while (operation.finishedAt === null) {
            operation = (await ask("POST", `/operations/${operation.id}/wait`, 200, { timeoutSeconds: 30 })).operation
          }
          assert.deepInclude(operation, { status: "failed", exitCode: null, processTree: "gone" })
          assert.strictEqual(operation.reason?.code, "CWD_NOT_FOUND")
        })
      )
    )
  })
})
