/** A build whose Sandbox falls asleep: it is woken, and the build ends as it would have. */
import { assert, layer } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../machines/sandbox.ts"
import { PullImageRequest } from "../../../schemas/Image.ts"
import { ActorHost } from "../../../src/engine/ActorHost.ts"
import { SimulatedWorld } from "../../../src/host/simulated/SimulatedWorld.ts"
import { Images } from "../../../src/image/Images.ts"
import { RuntimeUnavailable } from "../../../src/runtime/Runtime.ts"
import { newAccount, testAtoll } from "../../support/TestAtoll.ts"
import { TestDatabase } from "../../support/TestDatabase.ts"
import { until } from "../../support/until.ts"

/** The first tries of a host to receive the archive fail, for so long that the Sandbox can fall asleep in between. */
const failures = 4

layer(TestDatabase.layer, { excludeTestServices: true })("the Sandbox of a build", (it) => {
  it.effect("is woken for the archive, and does not sleep while that is received", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const world = yield* SimulatedWorld.make
      const { accountId, workspaceId } = yield* newAccount
      let tries = 0
      world.intercept = (call) =>
        call === "receiveImage" && tries++ < failures
          ? Effect.fail(new RuntimeUnavailable({ message: "no answer" }))
          : Effect.void
      yield* Effect.gen(function* () {
        const images = yield* Images
        const host = yield* ActorHost
        const { id, build } = yield* images.pull({
          ...{ accountId, requestId: "req_test", idempotencyKey: "k", fingerprint: "f" },
          request: Schema.decodeUnknownSync(PullImageRequest)({ dockerfile: "FROM scratch", workspaceId })
        })
        yield* until(
          Effect.sync(() => tries),
          (count) => count > 0
        )
        const { sandboxId } = build!
        yield* host.send(sandboxMachine, sandboxId, { type: "SLEEP" }, { cause: "idle" })
        const image = yield* until(images.get(accountId, id), ({ status }) => status === "ready" || status === "failed")
        assert.strictEqual(image.status, "ready", JSON.stringify(image.statusReason))
        const log = yield* sql<{ readonly type: string; readonly to: string }>`
          select event ->> 'type' as type, to_state as to from transitions where actor_id = ${sandboxId} order by revision`
        const slept = log.findIndex(({ type }) => type === "SLEEP")
        assert.strictEqual(log[slept]!.to, "sleeping")
        assert.isTrue(log.slice(slept).some(({ type }) => type === "START"))
      }).pipe(Effect.provide(testAtoll(world)))
    })
  )
})
