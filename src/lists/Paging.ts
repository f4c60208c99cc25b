/**
 * Cursors of the API's own lists: the last id (or revision) of the page before and a mark of the list, in base64url.
 *
 * The mark covers the position and the list: its account, its path and its filters. A cursor that was cut, changed or taken from another list
 * does not fit its mark and is refused; it would otherwise name some other place of this list. The mark is not secret and need not be: a
 * list holds only what its caller may read, at every position.
 */
import { hash } from "node:crypto"
import { Effect } from "effect"
import { InvalidRequest } from "../../schemas/Errors.ts"

/**
 * The account, the name of the list, then all that decides what is in it. A list whose positions are revisions names the database's era, too: in a
 * restored copy a revision may be another entry.
 */
export type ListBinding = readonly [accountId: string, list: string, ...rest: ReadonlyArray<unknown>]

/** 72 bits. */
const markCharacters = 12

const markOf = (binding: ListBinding, position: string): string =>
  hash("sha256", JSON.stringify([binding, position]), "base64url").slice(0, markCharacters)

export const sealCursor = (binding: ListBinding, position: string): string =>
  Buffer.from(`${position}~${markOf(binding, position)}`, "utf8").toString("base64url")

/** The position, if this list issued the cursor and the position has the list's form. */
export const openCursor = (
  binding: ListBinding,
  cursor: string | null,
  form: RegExp
): Effect.Effect<string | null, InvalidRequest> => {
  if (cursor === null) return Effect.succeed(null)
  const text = Buffer.from(cursor, "base64url").toString("utf8")
  const position = text.slice(0, Math.max(0, text.length - markCharacters - 1))
  // Node skips characters outside base64url, so only the exact issued text is accepted.
  return form.test(position) && sealCursor(binding, position) === cursor
    ? Effect.succeed(position)
    : Effect.fail(
        new InvalidRequest({
          details: {
            issues: [{ path: ["cursor"], message: "Expected the nextCursor of an earlier page of this same list" }]
          }
        })
      )
}

/** Takes one entry more than the page, and returns the page and the cursor to the next. */
export const pageOf = <A>(
  binding: ListBinding,
  entries: ReadonlyArray<A>,
  limit: number | null,
  positionOf: (entry: A) => string
) => {
  if (limit === null || entries.length <= limit) return { entries, nextCursor: null }
  const page = entries.slice(0, limit)
  return { entries: page, nextCursor: sealCursor(binding, positionOf(page[page.length - 1]!)) }
}

/** The position of a listed actor: lists are newest first. */
export const actorPosition = (record: { readonly createdAt: number; readonly id: string }) =>
  `${record.createdAt}:${record.id}`

const actorPositionForm = /^\d{1,15}:[0-9a-z_]{1,68}$/

export const openActorCursor = (binding: ListBinding, cursor: string | null) =>
  Effect.map(openCursor(binding, cursor, actorPositionForm), (position) => {
    if (position === null) return null
    const at = position.indexOf(":")
    return { createdAt: Number(position.slice(0, at)), id: position.slice(at + 1) }
  })
