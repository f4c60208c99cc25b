/**
 * The number by which transitions are found by their account: FNV-1a of the account's id. Four bytes in each row and each index entry, where the
 * id would be 31; two accounts may share one, so whoever reads by it compares the ids too.
 *
 * @source Fowler, Noll, Vo: FNV-1a, 32 bits
 */
export const accountKey = (accountId: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < accountId.length; at++) hash = Math.imul(hash ^ accountId.charCodeAt(at), 0x01000193)
  return hash | 0
}

/** What lives in a Sandbox, and the Sandbox. Other actors (an account's wallet) are nobody's to watch, and their logs are cut by rules of their own. */
const watchedKinds: ReadonlySet<string> = new Set([
  "sandbox",
  "operation",
  "preview",
  "serviceAccess",
  "connectionGrant"
])

/** Null: in no order of commits. */
export const watchedKey = (kind: string, accountId: string): number | null =>
  watchedKinds.has(kind) ? accountKey(accountId) : null
