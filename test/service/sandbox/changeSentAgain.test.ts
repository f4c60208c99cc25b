/** A change whose first answer was lost on the way from its owner: the message is sent again, and finds the Sandbox changed by itself. */
import { assert, layer } from "@effect/vitest"
import { Cause, Effect, Exit, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { OwnerAway } from "../../../src/engine/ActorError.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { layerWorld } from "../../../src/host/simulated/SimulatedRuntime.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { SandboxEnvs } from "../../../src/sandbox/SandboxEnvs.ts"
import { Sandboxes } from "../../../src/sandbox/Sandboxes.ts"
import { updateSandbox } from "../../../src/sandbox/updateSandbox.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { createIn } from "../../support/TestSandboxes.ts"
import { testSettings } from "../../support/TestSettings.ts"

const stage = Effect.gen(function* () {
  const account = yield* newAccount
  const { id } = (yield* createIn(account)).sandbox
  const host = yield* ActorHost
  const sandboxes = yield* Sandboxes
  const change = (requestId: string, metadata: Readonly<Record<string, string>>) =>
    sandboxes.update(account.accountId, id, { requestId, request: { metadata }, mayDelete: true })
  /** By a service whose messages are each delivered twice. */
  const again = Effect.fnUntraced(function* (
    request: Parameters<(typeof sandboxes)["update"]>[2]["request"],
    between: Effect.Effect<unknown, unknown> = Effect.void
  ) {
    let times = 0
    const send: typeof host.send = (...message) =>
      Effect.suspend(() => {
        if (++times > 1) return host.send(...message)
        return host.send(...message).pipe(Effect.andThen(Effect.orDie(between)), Effect.andThen(host.send(...message)))
      })
    const update = yield* Effect.provideService(updateSandbox, ActorHost, { ...host, send })
    return yield* update(account.accountId, id, { requestId: "req_again", request, mayDelete: true })
  })
  const changes = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const rows = yield* sql<{ readonly changes: { readonly metadata?: unknown } }>`
      select event -> 'changes' as changes from transitions
      where actor_id = ${id} and event ->> 'type' = 'CHANGED' order by revision`
    return rows.map((row) => row.changes.metadata)
  })
  const metadata = Effect.map(sandboxes.get(account.accountId, id), (found) => found.metadata)
  return { id, change, again, changes, metadata }
})

const served = <A, E, R>(body: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SimulatedWorld.make, (world) =>
    Effect.provide(body, Layer.mergeAll(testAtoll(world), layerWorld(world), testSettings()))
  )

layer(TestDatabase.layer, { excludeTestServices: true })("a change that is sent again", (it) => {
  it.effect("is made once, and answered with what it led to, its variables included", () =>
    Effect.gen(function* () {
      const { id, again, changes } = yield* stage
      const { metadata } = yield* again({ metadata: { team: "blue" }, env: { TOKEN: "kept" } })
      assert.deepStrictEqual(metadata, { team: "blue" })
      assert.lengthOf(yield* changes, 1)
      assert.deepStrictEqual(yield* (yield* SandboxEnvs).present(id), { TOKEN: "kept" })
    }).pipe(served)
  )

  for (const requestId of ["req_other", "req_again"]) {
    it.effect(`is not made on top of another change that came in between, by ${requestId}`, () =>
      Effect.gen(function* () {
        const { change, again, changes, metadata } = yield* stage
        const exit = yield* Effect.exit(again({ metadata: { team: "blue" } }, change(requestId, { team: "red" })))
        assert.isTrue(Exit.isFailure(exit))
        if (Exit.isFailure(exit)) assert.instanceOf(Cause.squash(exit.cause), OwnerAway)
        assert.deepStrictEqual(yield* changes, [{ team: "blue" }, { team: "red" }])
        assert.deepStrictEqual(yield* metadata, { team: "red" })
      }).pipe(served)
    )
  }
})
