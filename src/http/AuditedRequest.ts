/**
 * Whose request it is and what it is about, for the audit log and the service's own, which are written from outside of its handler. Only calls
 * that the audit log wants are kept.
 */
import type { IncomingMessage } from "node:http"
import type { HttpServerRequest } from "effect/http"
import type { AuditSource } from "../../schemas/Audit.ts"
import type { Audit } from "../account/Audit.ts"
import type { Credential } from "../account/Authentication.ts"
import { clientAddress } from "../gateway/Clients.ts"
import type { AuditedEndpoint, AuditedPath } from "./AuditedEndpoint.ts"
import { requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"

interface Whose extends Pick<Credential, "accountId" | "apiKeyId" | "sessionId" | "hint" | "name"> {
  readonly source: AuditSource
}

interface Noted {
  /** Null: nobody's, as far as is known. */
  credential: Whose | null
  readonly endpoint: AuditedEndpoint
  /** What its path does not say. */
  targetId: string | null
}

const noted = new WeakMap<IncomingMessage, Noted>()

/** Before anything refuses the call. */
export const noteCaller = (request: IncomingMessage, credential: Whose | null, endpoint: AuditedEndpoint): void => {
  noted.set(request, { credential, endpoint, targetId: null })
}

/** For a handler whose caller has neither key nor session yet: whose account it turned out to be about. */
export const noteAccount = (request: HttpServerRequest.HttpServerRequest, accountId: string): void => {
  const known = noted.get(request.source as IncomingMessage)
  if (known !== undefined)
    known.credential = { source: "console", accountId, apiKeyId: null, sessionId: null, hint: null, name: null }
}

/** For a handler whose call makes something, or whose target is not in its path: the id, which must be no capability. */
export const noteTarget = (request: HttpServerRequest.HttpServerRequest, targetId: string): void => {
  const known = noted.get(request.source as IncomingMessage)
  if (known !== undefined) known.targetId = targetId
}

/** A call of somebody who is known, with nothing secret in it. */
export interface KnownCall extends AuditedPath {
  readonly credential: Whose
  readonly action: string
  readonly changes: boolean
}

/** Null for a request that neither log has: it has no caller that was noted. */
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

/** Into the audit log. `errorCode`: of the Error body that answers it. */
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

/** The same for a request whose caller may be nobody: that leaves no event. */
export const auditRequest = (
  audit: Audit["Service"],
  request: IncomingMessage,
  status: number,
  errorCode: string | null
): void => {
  const call = knownCall(request)
  if (call !== null) auditCall(audit, request, call, status, errorCode)
}
