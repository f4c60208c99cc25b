/** The whole service on real machines: an unused one sleeps on disk, and wakes with its processes. */
import { assert, describe, layer } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { Atoll } from "../../../../src/app/Atoll.ts"
import { ActorCluster } from "../../../../src/engine/ActorCluster.ts"
import { Operations } from "../../../../src/operation/Operations.ts"
import { Runtime } from "../../../../src/runtime/Runtime.ts"
import { Sandboxes } from "../../../../src/sandbox/Sandboxes.ts"
import { freshDriver, TIMEOUT_MS, unusable } from "../../../support/host/qemu/TestMachines.ts"
import { newAccount } from "../../../support/TestAtoll.ts"
import { TestDatabase } from "../../../support/TestDatabase.ts"
import { command, createIn, request } from "../../../support/TestSandboxes.ts"
import { testSettings } from "../../../support/TestSettings.ts"

const timeoutMs = 3 * TIMEOUT_MS
const environment = {
  ATOLL_SANDBOX_MEMORY_BYTES: String(256 * 1024 ** 2),
  ATOLL_VOLUME_BYTES: String(64 * 1024 ** 2),
  ATOLL_BOOT_TIMEOUT_MS: String(TIMEOUT_MS),
  ATOLL_SLEEP_AFTER_SECONDS: "2"
}

const service = Atoll.layer().pipe(
  Layer.provideMerge(freshDriver(environment)),
  Layer.provide([ActorCluster.layerSingle, testSettings(environment)])
)

describe.skipIf(unusable !== null)("virtual machines", () => {
  layer(TestDatabase.layer, { excludeTestServices: true, timeout: timeoutMs })("sleep", (it) => {
    it.effect(
      "when they are unused, without a process on the host, and wake with their processes",
      () =>
        Effect.gen(function* () {
          const account = yield* newAccount
          const { accountId } = account
          const { id } = (yield* createIn(account)).sandbox
          const sandboxes = yield* Sandboxes
          const operations = yield* Operations
          const runtime = yield* Runtime
          const untilStatus = (wanted: string) =>
            Effect.repeat(Effect.delay(sandboxes.get(accountId, id), 100), { until: ({ status }) => status === wanted })
          const sh = (script: string) =>
            Effect.map(
              operations.execute(
                accountId,
                id,
                { ...command, argv: ["sh", "-c", script], timeoutSeconds: 60 },
                request
              ),
              ({ stdout }) => stdout.trim()
            )
          yield* untilStatus("running")
          // In the background it does not keep its machine awake, and must be there afterwards.
          const pid = yield* sh("sleep 100000 > /dev/null 2>&1 & echo $!")
          assert.match(pid, /^\d+$/)
          yield* untilStatus("sleeping")
          yield* Effect.repeat(Effect.delay(runtime.inventory, 100), {
            until: ([entry]) => entry?.state === "suspended"
          })
          assert.strictEqual(yield* sh(`cat /proc/${pid}/comm`), "sleep")
          const { status, generation } = yield* sandboxes.get(accountId, id)
          assert.deepStrictEqual([status, generation], ["running", 1])
          yield* untilStatus("sleeping")
          yield* sandboxes.remove(accountId, id, request)
          assert.deepStrictEqual(yield* runtime.inventory, [])
        }).pipe(Effect.provide(service)),
      timeoutMs
    )
  })
})
