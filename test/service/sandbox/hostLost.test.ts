/** The end of a host, as its Sandboxes handle it. */

import { assert, layer } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { publicText } from "../../../schemas/PublicText.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Operations } from "../../../src/operation/Operations.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { compareBooks } from "../../../src/wallet/verify/verifyUsage.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { command, createIn, request, untilStatus } from "../../support/TestSandboxes.ts"

const reason = { code: "HOST_LOST", message: publicText`The host of this Sandbox was lost.` }

layer(TestDatabase.layer, { excludeTestServices: true })("a Sandbox whose host is lost", (it) => {
  it.effect("is stopped, costs until the host was last seen, ends its dependents, and can start again later", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      const sql = yield* SqlClient.SqlClient
      yield* Effect.gen(function* () {
        const [sandboxes, operations, host] = [yield* Sandboxes, yield* Operations, yield* ActorHost]
        const account = yield* newAccount
        const { accountId } = account
        const { id } = (yield* createIn(account)).sandbox
        const began = Date.parse((yield* untilStatus(accountId, id, "running")).startedAt!)
        const operation = yield* operations.start(accountId, id, {
          ...request,
          idempotencyKey: "hang",
          fingerprint: "f",
          request: { ...command, argv: ["hang"], timeoutSeconds: null }
        })
        // It ran for long enough that its end is no rounding artefact.
        yield* Effect.sleep(300)
        const seenAt = began + 100
        const lost = (generation: number) =>
          host.send(sandboxMachine, id, { type: "HOST_LOST", generation, reason, seenAt }, { cause: "runtime" })
        yield* lost(1)
        const stopped = yield* sandboxes.get(accountId, id)
        assert.deepInclude(stopped, { status: "stopped", generation: 1, statusReason: reason })
        const ended = yield* Effect.repeat(operations.get(accountId, id, operation.id), {
          until: ({ status }) => status === "failed",
          schedule: Schedule.spaced(5)
        })
        assert.strictEqual(ended.reason?.code, "SANDBOX_LOST")

        const ranUntil = sql<{ readonly at: number | null }>`
          select (min(from_at) + sum(sign * (to_at - from_at)))::float8 as at from segments where sandbox_id = ${id} and is_running
            and not exists (select 1 from actors where id = ${id} and pending @> '[{"type": "meter"}]'::jsonb)`
        const until = yield* Effect.repeat(Effect.orDie(ranUntil), {
          until: ([row]) => row!.at !== null,
          schedule: Schedule.spaced(5)
        })
        assert.strictEqual(until[0]!.at, seenAt)
        const { differences } = yield* sql.withTransaction(compareBooks(sql, null))
        assert.deepStrictEqual(differences, [])

        // The same event again, and the events after its next start.
        const again = yield* Effect.flip(lost(1))
        assert.deepInclude(again, { _tag: "EventRefused", code: "STALE_RUNTIME_EVENT" })
        yield* sandboxes.start(accountId, id, { ...request, idempotencyKey: null })
        yield* untilStatus(accountId, id, "running")
        assert.strictEqual((yield* Effect.flip(lost(1)))._tag, "EventRefused")
        assert.deepInclude(yield* sandboxes.get(accountId, id), { status: "running", generation: 2 })
        assert.deepStrictEqual(world.boots, [`${id}#1`, `${id}#2`])
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_RECONCILE_INTERVAL_MS: "600000" })))
    })
  )

  it.effect("is ended if it is found alive when the host is back", () =>
    Effect.gen(function* () {
      const world = yield* SimulatedWorld.make
      yield* Effect.gen(function* () {
        const host = yield* ActorHost
        const account = yield* newAccount
        const { id } = (yield* createIn(account)).sandbox
        yield* untilStatus(account.accountId, id, "running")
        yield* host.send(sandboxMachine, id, { type: "HOST_LOST", reason, seenAt: Date.now() }, { cause: "runtime" })
        yield* Effect.repeat(
          Effect.sync(() => world.machines.has(id)),
          { until: (isThere) => !isThere, schedule: Schedule.spaced(5) }
        )
        assert.isTrue(world.volumes.has(id))
        assert.deepInclude(yield* (yield* Sandboxes).get(account.accountId, id), { status: "stopped" })
      }).pipe(Effect.provide(testAtoll(world, { ATOLL_RECONCILE_INTERVAL_MS: "50" })))
    })
  )
})
