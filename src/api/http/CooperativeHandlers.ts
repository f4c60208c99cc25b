import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { ConnectionGrants } from "../../access/ssh/ConnectionGrants.ts"
import { noteTarget } from "./AuditedRequest.ts"

export const CooperativeHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "cooperative",
    Effect.fnUntraced(function* (handlers) {
      const grants = yield* ConnectionGrants
      return handlers
        .handle(
          "grantConnection",
          ({ params, payload, request }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              Effect.map(
                grants.grant(accountId, params.id, { requestId, publicKeys: payload.publicKeys }),
                (envelope) => {
                  noteTarget(request, envelope.endpointId)
                  return envelope
                }
              )
            ),
          { uninterruptible: true }
        )
        .handle("regrantConnection", ({ params, payload }) =>
          Effect.flatMap(Caller, ({ accountId }) =>
            grants.recover(accountId, params.id, params.endpointId, payload.publicKeys)
          )
        )
        .handle(
          "revokeConnection",
          ({ params }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              grants.revoke(accountId, params.id, params.endpointId, { requestId })
            ),
          { uninterruptible: true }
        )
    })
  )
}
