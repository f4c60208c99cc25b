/** What the lists of audit events have in common: their positions, and the check of an action's name. */
import { Effect } from "effect"
import type { AuditPosition } from "../../account/AuditRows.ts"
import { type ListBinding, openCursor } from "../../lists/Paging.ts"
import { invalidRequest } from "./ErrorResponse.ts"
import { unknownName } from "./UnknownName.ts"

const position = /^\d{1,15}:aud_[0-9a-z]{26}$/

export const auditPosition = ({ at, id }: AuditPosition): string => `${at}:${id}`

export const openAuditPosition = (list: ListBinding, cursor: string | null) =>
  Effect.map(openCursor(list, cursor, position), (opened): AuditPosition | null => {
    if (opened === null) return null
    const colon = opened.indexOf(":")
    return { at: Number(opened.slice(0, colon)), id: opened.slice(colon + 1) }
  })

/** A misspelt action is refused: otherwise it would look like an action that never happened. */
export const knownAction = (action: string | null, known: ReadonlyArray<string>) =>
  action === null || known.includes(action)
    ? Effect.succeed(action)
    : Effect.fail(invalidRequest([{ path: ["action"], message: unknownName(action, known) }]))
