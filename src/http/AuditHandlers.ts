import { Effect } from "effect"
import { Caller } from "../../schemas/Access.ts"
import { Api } from "../../schemas/Api.ts"
import { Audit } from "../account/Audit.ts"
import { openCursor, pageOf } from "../actor/Paging.ts"
import { leanGroup } from "./LeanContext.ts"

const eventId = /^aud_[0-9a-z]{26}$/

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
          const before = yield* openCursor(query.cursor ?? null, eventId)
          const found = yield* audit.list(accountId, { limit: query.limit + 1, before })
          const { entries, nextCursor } = pageOf(found, query.limit, ({ id }) => id)
          return { events: entries.map((event) => ({ ...event, at: new Date(event.at).toISOString() })), nextCursor }
        })
      )
    })
  )
}
