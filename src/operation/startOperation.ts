/** Start: one operation for each Idempotency-Key, accepted if its Sandbox runs and has room in its queue. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../machines/operation.ts"
import { NotFound, RateLimited } from "../../schemas/Errors.ts"
import type { StartOperationRequest } from "../../schemas/Operation.ts"
import { millisecondsOf } from "../../schemas/Seconds.ts"
import { takenKeyBeside } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newOperationId } from "../platform/identifier/newId.ts"
import { SandboxUse } from "../sandbox/SandboxUse.ts"
import { Actors } from "../store/Actors.ts"
import { textColumn } from "../store/Columns.ts"
import { openIn } from "../store/openActors.ts"
import { queuedOperationStates } from "./OperationDefinition.ts"
import type { OperationPayload } from "./OperationPayload.ts"
import type { Operations } from "./Operations.ts"
import { operationView, type ReadOperation, readView } from "./OperationView.ts"
import { runningForOperation } from "./runningForOperation.ts"

const keyKind = "operation.start"
/** Retry-After for a request that finds the queue full. */
const queueRetrySeconds = 5

const payloadOf = (request: StartOperationRequest, sandboxEnv: string | null): OperationPayload => ({
  argv: request.argv,
  cwd: request.cwd,
  env: request.env,
  sandboxEnv,
  stdin: request.stdin === null ? null : Buffer.from(request.stdin, request.encoding).toString("base64")
})

export const startOperation = Effect.gen(function* () {
  const host = yield* ActorHost
  const actors = yield* Actors
  const uses = yield* SandboxUse
  const sql = yield* SqlClient.SqlClient
  const { operationsQueued: queuedMax } = yield* Settings
  const findRunning = yield* runningForOperation

  /** How many operations of the Sandbox wait for their turn. */
  const queuedOf = (sandboxId: string) => sql`(
    select count(*)::int4 from actors
    where ${sql.literal(openIn("actors"))} = ${sandboxId} and kind = 'operation'
      and status = any(${textColumn(queuedOperationStates)}::text[]))`

  /** The operation of an earlier request with this key, or how many operations wait. */
  const replay = Effect.fnUntraced(function* (accountId: string, sandboxId: string, key: string, fingerprint: string) {
    const identity = { accountId, kind: keyKind, key }
    const { taken, beside } = yield* takenKeyBeside(sql, identity, fingerprint, queuedOf(sandboxId))
    if (taken === null) return { replayed: null, queued: beside as number }
    const record = yield* actors.read(taken.targetId)
    if (record === null) return yield* new NotFound()
    return { replayed: readView(record as ReadOperation), queued: 0 }
  })

  /** Concurrent requests may all find the last place free; their number is limited by what all processes serve concurrently. */
  const requireRoom = (queued: number) =>
    queued < queuedMax
      ? Effect.void
      : new RateLimited({
          message: `${queued} operations of this Sandbox wait for their turn, which is the limit. Start it again when some of them have begun, with the same Idempotency-Key.`,
          details: { retryAfterSeconds: queueRetrySeconds }
        })

  const start: Operations["Service"]["start"] = Effect.fn("Operations.start")(
    function* (accountId, sandboxId, { requestId, exhaustedAt, idempotencyKey, fingerprint, request }) {
      const again = replay(accountId, sandboxId, idempotencyKey, fingerprint)
      const { replayed, queued } = yield* again
      if (replayed !== null) return replayed
      const { generation, env: kept } = yield* findRunning(accountId, sandboxId, exhaustedAt)
      yield* requireRoom(queued)
      const operationId = newOperationId()
      const at = yield* Clock.currentTimeMillis
      const payload = payloadOf(request, kept?.version ?? null)
      const timeoutMs = request.timeoutSeconds === null ? null : millisecondsOf(request.timeoutSeconds)
      const created = yield* host.create(operationMachine, {
        id: operationId,
        accountId,
        sandboxId,
        input: { operationId, accountId, sandboxId, generation, timeoutMs, at },
        payload,
        cause: "client",
        requestId,
        idempotency: { kind: keyKind, key: idempotencyKey, fingerprint }
      })
      if (created === null) return (yield* again).replayed!
      // No output before the first run.
      return operationView({ status: created.value, context: created.context, payload }, { stdout: 0, stderr: 0 })
    },
    // Once stored, the operation itself keeps the Sandbox awake.
    (effect, _, sandboxId) => uses.during(sandboxId)(effect)
  )
  return start
})
