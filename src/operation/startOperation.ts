/** Start: one operation for each Idempotency-Key, accepted if its Sandbox runs and has room in its queue. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../machines/operation.ts"
import { NotFound, RateLimited } from "../../schemas/Errors.ts"
import type { StartOperationRequest } from "../../schemas/Operation.ts"
import { millisecondsOf } from "../../schemas/Seconds.ts"
import { takenKey } from "../account/idempotency/IdempotencyKeys.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { newOperationId } from "../platform/identifier/newId.ts"
import { SandboxUse } from "../sandbox/SandboxUse.ts"
import { Actors } from "../store/Actors.ts"
import { textColumn } from "../store/Columns.ts"
import { queuedOperationStates } from "./OperationDefinition.ts"
import type { OperationPayload } from "./OperationPayload.ts"
import type { Operations } from "./Operations.ts"
import { type OperationRecord, operationView } from "./OperationView.ts"
import { ownOperations } from "./ownOperations.ts"
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
  const { view } = yield* ownOperations

  const replay = Effect.fnUntraced(function* (accountId: string, key: string, fingerprint: string) {
    const known = yield* takenKey(sql, { accountId, kind: keyKind, key }, fingerprint)
    if (known === null) return null
    const record = yield* actors.read(known.targetId)
    if (record === null) return yield* new NotFound()
    return yield* view(record as OperationRecord)
  })

  /** Concurrent requests may all find the last place free; their number is limited by what all processes serve concurrently. */
  const requireRoom = Effect.fnUntraced(function* (sandboxId: string) {
    const [{ queued } = { queued: 0 }] = yield* sql<{ readonly queued: number }>`
      select count(*)::int4 as queued from actors
      where sandbox_id = ${sandboxId} and kind = 'operation' and status = any(${textColumn(queuedOperationStates)}::text[])
        and (pending <> '[]'::jsonb or due_at is not null)`.pipe(Effect.orDie)
    if (queued < queuedMax) return
    return yield* new RateLimited({
      message: `${queued} operations of this Sandbox wait for their turn, which is the limit. Start it again when some of them have begun, with the same Idempotency-Key.`,
      details: { retryAfterSeconds: queueRetrySeconds }
    })
  })

  const start: Operations["Service"]["start"] = Effect.fn("Operations.start")(
    function* (accountId, sandboxId, { requestId, exhaustedAt, idempotencyKey, fingerprint, request }) {
      const replayed = yield* replay(accountId, idempotencyKey, fingerprint)
      if (replayed !== null) return replayed
      const { generation, env: kept } = yield* findRunning(accountId, sandboxId, exhaustedAt)
      yield* requireRoom(sandboxId)
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
      if (created === null) return (yield* replay(accountId, idempotencyKey, fingerprint))!
      // No output before the first run.
      return operationView({ status: created.value, context: created.context, payload }, { stdout: 0, stderr: 0 })
    },
    // Once stored, the operation itself keeps the Sandbox awake.
    (effect, _, sandboxId) => uses.during(sandboxId)(effect)
  )
  return start
})
