/** Records the operator's changes in the audit log: of the account that they concern, or of no account. */
import { Clock, Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { type AuditTarget, type OperatorAction, operatorCommands } from "../../schemas/Audit.ts"
import { type InstallationAction, installationCommands } from "../../schemas/console/OperatedAudit.ts"
import type { ErrorCode } from "../../schemas/Errors.ts"
import { newId, newRequestId } from "../platform/identifier/newId.ts"
import { insertEvents } from "./AuditRows.ts"

interface OperatorCall {
  /** Null: the change belongs to no account. */
  readonly accountId: string | null
  readonly action: OperatorAction | InstallationAction
  readonly targetType: AuditTarget | null
  readonly targetId: string | null
  /** The status that an endpoint would return: 200, 201 for a creation, 4xx for a refusal. */
  readonly status: number
  readonly errorCode: ErrorCode | null
}

interface OperatorWay {
  readonly method: string
  /** Null: the words of the command line. */
  readonly path: string | null
  /** Null: none but the event's own. */
  readonly requestId: string | null
  readonly sourceIp: string
  readonly userAgent: string | null
}

const commands = { ...operatorCommands, ...installationCommands }

/** By which way the operator came: the command line, unless the operator's page provides another. */
export const OperatorWay = Context.Reference<OperatorWay>("atoll/account/OperatorWay", {
  defaultValue: () => ({ method: "CLI", path: null, requestId: null, sourceIp: "127.0.0.1", userAgent: null })
})

/** Stored when it returns; works without a running service. */
export const noteOperator = Effect.fn("noteOperator")(function* (call: OperatorCall) {
  const sql = yield* SqlClient.SqlClient
  const at = yield* Clock.currentTimeMillis
  const { method, path, requestId, sourceIp, userAgent } = yield* OperatorWay
  yield* insertEvents(sql, [
    {
      ...call,
      id: newId("aud_"),
      at,
      source: "operator",
      apiKeyId: null,
      keyHint: null,
      keyName: null,
      method,
      path: path ?? commands[call.action],
      sandboxId: null,
      requestId: requestId ?? newRequestId(),
      sourceIp,
      userAgent
    }
  ])
}, Effect.orDie)

/** Records a change that belongs to no account. @param targetId Of what was changed; null: it has no id. */
export const noteInstallation = (action: InstallationAction, targetId: string | null, status = 200) =>
  noteOperator({ accountId: null, action, targetType: null, targetId, status, errorCode: null })
