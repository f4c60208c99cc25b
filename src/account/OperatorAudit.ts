/** What the operator does to an account on the command line, in that account's audit log. */
import { Clock, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type AuditTarget, type OperatorAction, operatorCommands } from "../../schemas/Audit.ts"
import type { ErrorCode } from "../../schemas/Errors.ts"
import { newId, newRequestId } from "../identifier/newId.ts"
import { insertEvents } from "./AuditRows.ts"

interface OperatorCall {
  readonly accountId: string
  readonly action: OperatorAction
  readonly targetType: AuditTarget | null
  readonly targetId: string | null
  /** As an endpoint would answer: 200, 201 for what was made, 4xx for what was refused. */
  readonly status: number
  readonly errorCode: ErrorCode | null
}

/** Written when it returns: no service need run. */
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
