import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { ServiceAccesses } from "../../access/serviceAccess/ServiceAccesses.ts"
import { noteTarget } from "./AuditedRequest.ts"

export const ServiceAccessHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "serviceAccess",
    Effect.fnUntraced(function* (handlers) {
      const accesses = yield* ServiceAccesses
      return handlers
        .handle(
          "createServiceAccess",
          ({ params, headers, payload, request }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) => {
              noteTarget(request, headers["idempotency-key"])
              return accesses.create(accountId, params.id, {
                requestId,
                generationId: headers["idempotency-key"],
                request: payload
              })
            }),
          { uninterruptible: true }
        )
        .handle("lookUpServiceAccess", ({ params, headers, payload, request }) =>
          Effect.flatMap(Caller, ({ accountId, requestId }) => {
            noteTarget(request, headers["idempotency-key"])
            return accesses.lookUp(accountId, params.id, {
              requestId,
              generationId: headers["idempotency-key"],
              request: payload
            })
          })
        )
        .handle(
          "revokeServiceAccess",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              accesses.revoke(accountId, params.id, params.generationId, { requestId })
            ),
          { uninterruptible: true }
        )
    })
  )
}
