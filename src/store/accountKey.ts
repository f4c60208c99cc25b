/**
 * The number by which transitions are indexed by account: FNV-1a of the account's id. It takes four bytes in each row and index entry, where the
 * id would take 31. Two accounts may share a number, so readers compare the ids too.
 *
 * @source Fowler, Noll, Vo: FNV-1a, 32 bits
 */
export const accountKey = (accountId: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < accountId.length; at++) hash = Math.imul(hash ^ accountId.charCodeAt(at), 0x01000193)
  return hash | 0
}

/** The Sandbox and the resources in it. Other actors (an account's wallet) have no event stream, and separate retention rules for their logs. */
const watchedKinds: ReadonlySet<string> = new Set([
  "sandbox",
  "operation",
  "preview",
  "serviceAccess",
  "connectionGrant",
  "snapshot"
])

/** Null: not in the commit order. */
export const watchedKey = (kind: string, accountId: string): number | null =>
  watchedKinds.has(kind) ? accountKey(accountId) : null
