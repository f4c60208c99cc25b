/**
 * The caller and the target of a request, for the audit log and the service's log, which are written outside its handler. Only calls
 * that the audit log records are kept.
 */
import type { IncomingMessage } from "node:http"
import type { HttpServerRequest } from "effect/http"
import type { AuditSource } from "../../../schemas/Audit.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import type { Audit } from "../../account/Audit.ts"
import type { Credential } from "../../account/Authentication.ts"
import type { AuditedEndpoint, AuditedPath } from "./AuditedEndpoint.ts"
import { requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"

interface Whose extends Pick<Credential, "accountId" | "apiKeyId" | "sessionId" | "hint" | "name"> {
  readonly source: AuditSource
}

interface Noted {
  /** Null: no known caller. */
  credential: Whose | null
  readonly endpoint: AuditedEndpoint
  /** The target's id if the path does not contain it. */
  targetId: string | null
}

const noted = new WeakMap<IncomingMessage, Noted>()

/** Call it before anything refuses the call. */
export const noteCaller = (request: IncomingMessage, credential: Whose | null, endpoint: AuditedEndpoint): void => {
  noted.set(request, { credential, endpoint, targetId: null })
}

/** For a handler whose caller has neither key nor session yet: sets the account. */
export const noteAccount = (request: HttpServerRequest.HttpServerRequest, accountId: string): void => {
  const known = noted.get(request.source as IncomingMessage)
  if (known !== undefined)
    known.credential = { source: "console", accountId, apiKeyId: null, sessionId: null, hint: null, name: null }
}

/** For a handler that creates something, or whose target is not in its path: the id, which must not be a capability. */
export const noteTarget = (request: HttpServerRequest.HttpServerRequest, targetId: string): void => {
  const known = noted.get(request.source as IncomingMessage)
  if (known !== undefined) known.targetId = targetId
}

/** A call of a known caller, without secrets. */
export interface KnownCall extends AuditedPath {
  readonly credential: Whose
  readonly action: string
  readonly changes: boolean
}

/** Null if the caller was never noted: then neither log records the call. */
export const knownCall = (request: IncomingMessage): KnownCall | null => {
  const known = noted.get(request)
  if (known === undefined || known.credential === null) return null
  const { credential, endpoint } = known
  const { path, sandboxId, targetType, targetId } = endpoint.read(pathOf(request) ?? "")
  const target = targetId ?? known.targetId
  return {
    credential,
    action: endpoint.action,
    changes: endpoint.changes,
    path,
    sandboxId: sandboxId ?? (targetType === "sandbox" ? target : null),
    targetType,
    targetId: target
  }
}

/** Writes the audit event. `errorCode`: from the Error body of the response. */
export const auditCall = (
  audit: Audit["Service"],
  request: IncomingMessage,
  { credential, action, path, sandboxId, targetType, targetId }: KnownCall,
  status: number,
  errorCode: string | null
): void =>
  audit.note({
    accountId: credential.accountId,
    source: credential.source,
    action,
    apiKeyId: credential.apiKeyId,
    keyHint: credential.hint,
    keyName: credential.name,
    method: request.method ?? "",
    path,
    sandboxId,
    targetType,
    targetId,
    status,
    errorCode,
    requestId: requestIdOf(request),
    sourceIp: clientAddress(request),
    userAgent: request.headers["user-agent"] ?? null
  })

/** The same for a request that may have no known caller: then there is no event. */
export const auditRequest = (
  audit: Audit["Service"],
  request: IncomingMessage,
  status: number,
  errorCode: string | null
): void => {
  const call = knownCall(request)
  if (call !== null) auditCall(audit, request, call, status, errorCode)
}
