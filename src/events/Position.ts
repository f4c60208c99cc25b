/** Positions as clients see them: opaque, and good for one era of the database. */
import type { TransitionPosition } from "../store/TransitionReads.ts"

export const sealPosition = (era: string, { xact, done }: TransitionPosition): string =>
  Buffer.from(`${era}.${xact}.${done}`, "latin1").toString("base64url")

const form = /^([0-9a-f]{8})\.(\d{1,16})\.(\d{1,9})$/

/** Null: none of ours. `stale`: of another era. */
export const openPosition = (era: string, text: string): TransitionPosition | "stale" | null => {
  const plain = Buffer.from(text, "base64url").toString("latin1")
  const found = form.exec(plain)
  if (found === null || Buffer.from(plain, "latin1").toString("base64url") !== text) return null
  return found[1] === era ? { xact: Number(found[2]), done: Number(found[3]) } : "stale"
}
