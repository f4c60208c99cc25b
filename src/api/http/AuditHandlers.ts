import { Effect } from "effect"
import { Caller } from "../../../schemas/Access.ts"
import { Api } from "../../../schemas/Api.ts"
import { Audit } from "../../account/Audit.ts"
import type { AuditPosition } from "../../account/AuditRows.ts"
import { type ListBinding, openCursor, pageOf } from "../../engine/Paging.ts"
import { knownActions } from "./AuditedEndpoint.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { leanGroup } from "./LeanContext.ts"
import { unknownName } from "./UnknownName.ts"

const position = /^\d{1,15}:aud_[0-9a-z]{26}$/

const positionOf = ({ at, id }: AuditPosition): string => `${at}:${id}`

const openPosition = (list: ListBinding, cursor: string | null) =>
  Effect.map(openCursor(list, cursor, position), (opened): AuditPosition | null => {
    if (opened === null) return null
    const colon = opened.indexOf(":")
    return { at: Number(opened.slice(0, colon)), id: opened.slice(colon + 1) }
  })

const known = new Set(knownActions)

/** A misspelt action is refused: otherwise it would look like an action that never happened. */
const knownAction = (action: string | null) =>
  action === null || known.has(action)
    ? Effect.succeed(action)
    : Effect.fail(invalidRequest([{ path: ["action"], message: unknownName(action, knownActions) }]))

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
            action: yield* knownAction(query.action ?? null),
            sandboxId: query.sandboxId ?? null
          }
          const list: ListBinding = [accountId, "audit", filter]
          const before = yield* openPosition(list, query.cursor ?? null)
          const found = yield* audit.list(accountId, filter, { limit: query.limit + 1, before })
          const { entries, nextCursor } = pageOf(list, found, query.limit, positionOf)
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
