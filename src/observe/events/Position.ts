/**
 * Positions as clients see them: opaque, and valid for one account in one era of the database.
 *
 * A position counts the events before it within one account, so in another account it would skip as many of that account's. Its mark covers the era,
 * the account and the position itself.
 */
import { hash } from "node:crypto"
import type { TransitionPosition } from "../../store/TransitionReads.ts"

/** The owner of a position. */
export interface PositionOwner {
  readonly era: string
  readonly accountId: string
}

const markOf = ({ era, accountId }: PositionOwner, { xact, done }: TransitionPosition): string =>
  hash("sha256", `${era} ${accountId} ${xact} ${done}`).slice(0, 8)

export const sealPosition = (owner: PositionOwner, position: TransitionPosition): string =>
  Buffer.from(`${markOf(owner, position)}.${position.xact}.${position.done}`, "latin1").toString("base64url")

const form = /^([0-9a-f]{8})\.(\d{1,16})\.(\d{1,9})$/

/** Null when the text is not a position. `stale`: of another era or account, or changed. */
export const openPosition = (owner: PositionOwner, text: string): TransitionPosition | "stale" | null => {
  const plain = Buffer.from(text, "base64url").toString("latin1")
  const found = form.exec(plain)
  if (found === null || Buffer.from(plain, "latin1").toString("base64url") !== text) return null
  const position = { xact: Number(found[2]), done: Number(found[3]) }
  // Earlier versions used only the era.
  const isOwn = found[1] === markOf(owner, position) || found[1] === owner.era
  return isOwn ? position : "stale"
}
