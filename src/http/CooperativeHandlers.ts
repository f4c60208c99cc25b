import { Effect } from "effect"
import { HttpApiBuilder } from "effect/http-api"
import { Caller } from "../../schemas/Access.ts"
import { Api } from "../../schemas/Api.ts"
import { ConnectionGrants } from "../cooperative/ConnectionGrants.ts"

export const CooperativeHandlers = {
  layer: HttpApiBuilder.group(
    Api,
    "cooperative",
    Effect.fnUntraced(function* (handlers) {
      const grants = yield* ConnectionGrants
      return handlers
        .handle(
          "grantConnection",
          ({ params, payload }) =>
            Effect.flatMap(Caller, ({ accountId, requestId }) =>
              grants.grant(accountId, params.id, { requestId, publicKeys: payload.publicKeys })
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
