/** Cursors of the API's own lists: the last id (or revision) of the page before, in base64url. */
import { Effect } from "effect"
import { InvalidRequest } from "../../schemas/Errors.ts"

export const sealCursor = (position: string): string => Buffer.from(position, "utf8").toString("base64url")

/** The position, if it looks like one of ours; it names no secret, so it is only checked for its form. */
export const openCursor = (cursor: string | null, form: RegExp): Effect.Effect<string | null, InvalidRequest> => {
  if (cursor === null) return Effect.succeed(null)
  const position = Buffer.from(cursor, "base64url").toString("utf8")
  return form.test(position) && sealCursor(position) === cursor
    ? Effect.succeed(position)
    : Effect.fail(
        new InvalidRequest({
          details: { issues: [{ path: ["cursor"], message: "Expected the nextCursor of an earlier page" }] }
        })
      )
}

/** Of one entry more than asked for: the page, and the cursor to the next one. */
export const pageOf = <A>(entries: ReadonlyArray<A>, limit: number | null, positionOf: (entry: A) => string) => {
  if (limit === null || entries.length <= limit) return { entries, nextCursor: null }
  const page = entries.slice(0, limit)
  return { entries: page, nextCursor: sealCursor(positionOf(page[page.length - 1]!)) }
}

/** The position of a listed actor: lists are newest first. */
export const actorPosition = (record: { readonly createdAt: number; readonly id: string }) =>
  `${record.createdAt}:${record.id}`

/** @param idPrefix Of the list's own ids, so that a cursor of another list is refused. */
export const openActorCursor = (cursor: string | null, idPrefix: string) =>
  Effect.map(openCursor(cursor, new RegExp(`^\\d{1,15}:${idPrefix}[0-9a-z]{1,64}$`)), (position) => {
    if (position === null) return null
    const at = position.indexOf(":")
    return { createdAt: Number(position.slice(0, at)), id: position.slice(at + 1) }
  })
