/** What somebody gave to `atoll login`, told apart: addresses and API keys, in any order. */

export interface LoginPart {
  readonly kind: "address" | "key"
  readonly text: string
}

const keyPrefix = "atoll_live_"

export const isKey = (text: string): boolean => text.startsWith(keyPrefix)

/** The end of a key, by which lists show it. */
export const hintOf = (apiKey: string): string => `…${apiKey.slice(-4)}`

/** `ATOLL_URL="https://…"`, as in a file of variables: the value. */
const valueIn = (text: string): string =>
  text
    .trim()
    .replace(/^(?:export\s+)?[A-Za-z_]\w*=/, "")
    .replace(/^(["'])(.*)\1$/, "$2")
    .trim()

const looksLikeAddress = (text: string): boolean =>
  text.includes("://") || /^(?:localhost|\[[\da-f:]+\]|[\w-]+(?:\.[\w-]+)+)(?::\d+)?(?:\/\S*)?$/i.test(text)

/** Null: it is empty, or a comment. Anything but an address counts as a key, which the service checks. */
export const loginPart = (given: string): LoginPart | null => {
  const text = valueIn(given)
  if (text === "" || text.startsWith("#")) return null
  return { kind: !isKey(text) && looksLikeAddress(text) ? "address" : "key", text }
}
