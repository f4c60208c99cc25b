/** TCP service access: a sealed capability that opens some ports of a running Sandbox for an hour. */
import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema, OpenApi } from "effect/http-api"
import { Authorized, ReadOnly, ReadsContent, RequiredScope } from "./Access.ts"
import {
  InvalidRequest,
  NotFound,
  PayloadTooLarge,
  SandboxUnavailable,
  UnsupportedByRuntime,
  UnsupportedMediaType
} from "./Errors.ts"
import { SandboxId, ServiceAccessId } from "./Identifiers.ts"
import { serviceAccessPortsMax } from "./Limits.ts"
import { Port } from "./Preview.ts"
import { instant } from "./Query.ts"

const isAscending = Schema.makeFilter<ReadonlyArray<number>>(
  (ports) => ports.every((port, at) => at === 0 || port > ports[at - 1]!),
  { expected: "ports in strictly ascending order", toJsonSchema: () => ({ uniqueItems: true }) }
)

export const ServiceAccessRequest = Schema.Struct({
  requested_at: instant(
    "Within 60 s of the server's clock at first use. The access ends exactly 3600 s after it; nothing renews it."
  ),
  ports: Schema.Array(Port)
    .check(
      Schema.isBetweenLength(1, serviceAccessPortsMax, {
        toJsonSchema: () => ({ minItems: 1, maxItems: serviceAccessPortsMax })
      }),
      isAscending
    )
    .annotate({ description: "Strictly ascending." })
}).annotate({ identifier: "ServiceAccessRequest", description: "Which ports to open, and when that was asked for." })
export interface ServiceAccessRequest extends Schema.Schema.Type<typeof ServiceAccessRequest> {}

export const ServiceAccessEnvelope = Schema.Struct({
  capability: Schema.String.annotate({
    description: "Sealed: opaque to the caller; bound to the Sandbox, its generation, the ports and the expiry."
  })
}).annotate({
  identifier: "ServiceAccessEnvelope",
  description: "What opens the ports. Who has it needs no API key: keep it as a secret."
})
export interface ServiceAccessEnvelope extends Schema.Schema.Type<typeof ServiceAccessEnvelope> {}

export const ServiceAccessRevoke = Schema.Struct({
  generationId: ServiceAccessId,
  cleanup: Schema.Literals(["confirmed", "unconfirmed"]).annotate({
    description: "Every connection is cut here in either case. confirmed: and the runtime has said so too."
  })
}).annotate({ identifier: "ServiceAccessRevoke", description: "What is known of the access that was revoked." })
export interface ServiceAccessRevoke extends Schema.Schema.Type<typeof ServiceAccessRevoke> {}

const headers = {
  "idempotency-key": ServiceAccessId.pipe(
    Schema.annotateKey({
      messageMissingKey:
        'Required. Choose a UUID version 4, such as "Idempotency-Key: 7f1c2d90-5b0e-4b7a-9d35-2f6f0c1e8a44": it names the access'
    })
  )
}
const reached = [NotFound, UnsupportedByRuntime, SandboxUnavailable] as const
const jsonBody = [InvalidRequest, PayloadTooLarge, UnsupportedMediaType] as const

export class ServiceAccessGroup extends HttpApiGroup.make("serviceAccess")
  .add(
    HttpApiEndpoint.post("createServiceAccess", "/sandboxes/:id/services", {
      params: { id: SandboxId },
      headers,
      payload: ServiceAccessRequest,
      success: ServiceAccessEnvelope.pipe(HttpApiSchema.status(201)),
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "createServiceAccess",
          summary: "Open TCP access to ports",
          description:
            "The capability opens connections to the ports: openTunnel, `GET /api/v2/tunnel?port=N`. One client is retained: a newer client's connections cut the older one's. The same key answers the same envelope; another body for it is 400, and when the access is over 404. 501 unless the server offers it."
        })
      ),
    HttpApiEndpoint.post("lookUpServiceAccess", "/sandboxes/:id/services/lookup", {
      params: { id: SandboxId },
      headers,
      payload: ServiceAccessRequest,
      success: ServiceAccessEnvelope,
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotate(ReadsContent, true)
      .annotate(ReadOnly, true)
      .annotateMerge(
        OpenApi.annotations({
          identifier: "lookUpServiceAccess",
          summary: "Recover a live envelope",
          description: "The original one, not renewed. 404 when it is over."
        })
      ),
    HttpApiEndpoint.delete("revokeServiceAccess", "/sandboxes/:id/services/:generationId", {
      params: { id: SandboxId, generationId: ServiceAccessId },
      success: ServiceAccessRevoke,
      error: [...jsonBody, ...reached]
    })
      .annotate(RequiredScope, "sandbox:execute")
      .annotateMerge(
        OpenApi.annotations({
          identifier: "revokeServiceAccess",
          summary: "Revoke TCP access",
          description: "Live connections are cut within a second. Repeated: the same answer."
        })
      )
  )
  .middleware(Authorized)
  .annotateMerge(
    OpenApi.annotations({
      title: "TCP service access",
      description:
        "TCP connections to ports of a Sandbox, by a capability instead of an API key. Off unless the server offers it (501)."
    })
  ) {}
