import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Audit } from "../../account/Audit.ts"
import { type ListBinding, pageOf } from "../../lists/Paging.ts"
import { knownActions } from "./AuditedEndpoint.ts"
import { auditPosition, knownAction, openAuditPosition } from "./AuditQuery.ts"
import { leanGroup } from "./LeanContext.ts"

export const AuditHandlers = {
  layer: leanGroup(
    Api,
    "audit",
    Effect.fnUntraced(function* (handlers) {
      const audit = yield* Audit
      return handlers.handle(
        "listAuditEvents",
        Effect.fnUntraced(function* ({ query }) {
          const { accountId } = yield* Caller
          const filter = {
            from: query.from ?? null,
            to: query.to ?? null,
            action: yield* knownAction(query.action ?? null, knownActions),
            sandboxId: query.sandboxId ?? null
          }
          const list: ListBinding = [accountId, "audit", filter]
          const before = yield* openAuditPosition(list, query.cursor ?? null)
          const found = yield* audit.list(accountId, filter, { limit: query.limit + 1, before })
          const { entries, nextCursor } = pageOf(list, found, query.limit, auditPosition)
          return {
            events: entries.map(({ accountId: _, sandboxId: __, ...event }) => ({
              ...event,
              at: new Date(event.at).toISOString()
            })),
            nextCursor
          }
        })
      )
    })
  )
}
