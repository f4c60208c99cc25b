/** Tunnels in the audit log: a request leaves exactly one event, from the time its caller is known until it is answered. */
import type { IncomingMessage } from "node:http"
import type { GatewayAction } from "../../../schemas/Audit.ts"
import type { ErrorCode } from "../../../schemas/Errors.ts"
import { clientAddress } from "../../access/gateway/Clients.ts"
import type { Claims } from "../../access/serviceAccess/Capability.ts"
import type { Audit } from "../../account/Audit.ts"
import { requestIdOf } from "./RequestId.ts"

const action: GatewayAction = "openTunnel"

export const auditedTunnels = (audit: Audit["Service"], path: string) => {
  const open = new WeakMap<IncomingMessage, { readonly claims: Claims; generationId: string | null }>()

  return {
    recognised: (request: IncomingMessage, claims: Claims): void => {
      open.set(request, { claims, generationId: null })
    },

    admitted: (request: IncomingMessage, generationId: string): void => {
      const known = open.get(request)
      if (known !== undefined) known.generationId = generationId
    },

    /** The first call counts; a request without a known caller is ignored. */
    answered: (request: IncomingMessage, status: number, errorCode: ErrorCode | null): void => {
      const known = open.get(request)
      if (known === undefined) return
      open.delete(request)
      const { accountId, sandboxId } = known.claims
      audit.note({
        accountId,
        source: "api",
        action,
        apiKeyId: null,
        keyHint: null,
        keyName: null,
        method: request.method ?? "",
        path,
        sandboxId,
        targetType: "serviceAccess",
        targetId: known.generationId,
        status,
        errorCode,
        requestId: requestIdOf(request),
        sourceIp: clientAddress(request),
        userAgent: request.headers["user-agent"] ?? null
      })
    }
  }
}
