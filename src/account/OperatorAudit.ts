/** Records the operator's commands on an account in that account's audit log. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type AuditTarget, type OperatorAction, operatorCommands } from "../../schemas/Audit.ts"
import type { ErrorCode } from "../../schemas/Errors.ts"
import { newId, newRequestId } from "../platform/identifier/newId.ts"
import { insertEvents } from "./AuditRows.ts"

interface OperatorCall {
  readonly accountId: string
  readonly action: OperatorAction
  readonly targetType: AuditTarget | null
  readonly targetId: string | null
  /** The status that an endpoint would return: 200, 201 for a creation, 4xx for a refusal. */
  readonly status: number
  readonly errorCode: ErrorCode | null
}

/** Stored when it returns; works without a running service. */
export const noteOperator = Effect.fn("noteOperator")(function* (call: OperatorCall) {
  const sql = yield* SqlClient.SqlClient
  const at = yield* Clock.currentTimeMillis
  yield* insertEvents(sql, [
    {
      ...call,
      id: newId("aud_"),
      at,
      source: "operator",
      apiKeyId: null,
      keyHint: null,
      keyName: null,
      method: "CLI",
      path: operatorCommands[call.action],
      sandboxId: null,
      requestId: newRequestId(),
      sourceIp: "127.0.0.1",
      userAgent: null
    }
  ])
}, Effect.orDie)
