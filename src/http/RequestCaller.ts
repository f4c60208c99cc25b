/** Whose request it is, for those who see it from outside of its handler. Only calls that the audit log wants are kept. */
import type { IncomingMessage } from "node:http"
import type { Audit } from "../account/Audit.ts"
import type { Credential } from "../account/Authentication.ts"
import { requestIdOf } from "./RequestId.ts"
import { pathOf } from "./RequestTarget.ts"

const callers = new WeakMap<IncomingMessage, Credential>()

const pathMaxCharacters = 2048

export const noteCaller = (request: IncomingMessage, credential: Credential): void => {
  callers.set(request, credential)
}

/** Into the audit log, if the request has a caller that was noted. */
export const auditRequest = (audit: Audit["Service"], request: IncomingMessage, status: number): void => {
  const credential = callers.get(request)
  if (credential === undefined) return
  audit.note({
    accountId: credential.accountId,
    apiKeyId: credential.apiKeyId,
    keyHint: credential.hint,
    method: request.method ?? "",
    path: (pathOf(request) ?? "").slice(0, pathMaxCharacters),
    status,
    requestId: requestIdOf(request),
    sourceIp: (request.socket.remoteAddress ?? "").replace(/^::ffff:/, "")
  })
}
