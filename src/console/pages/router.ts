/** The current page: the path below /console and the query, in the browser's history. */
import { batch, signal } from "@preact/signals"

const base = "/console"

const read = (): string => {
  const path = location.pathname.slice(base.length).replace(/\/+$/, "")
  return path === "" ? "/" : path
}

/** Without /console: `/`, `/keys`, `/sandboxes/sbx_…`. */
export const path = signal(read())

/** The part of the page: with its `?`, or empty. */
export const query = signal(location.search)

export const hrefOf = (to: string): string => `${base}${to}`

const arrive = (): void =>
  batch(() => {
    path.value = read()
    query.value = location.search
  })

/** With only a new query the scroll position stays. */
export const navigate = (to: string, how: "push" | "replace" = "push"): void => {
  const before = path.value
  if (how === "push") history.pushState(null, "", hrefOf(to))
  else history.replaceState(null, "", hrefOf(to))
  arrive()
  if (path.value !== before) scrollTo(0, 0)
}

addEventListener("popstate", arrive)

interface Came {
  readonly kind: "invitation" | "link"
  readonly code: string
}

/** Removes the code from the address, so that neither the history nor a bookmark keeps it. */
const takeCode = (): Came | null => {
  const found = /^#(invitation|link)=([\w~.-]+)$/.exec(location.hash)
  if (found === null) return null
  history.replaceState(null, "", location.pathname)
  return { kind: found[1] as Came["kind"], code: found[2]! }
}

/** The code from a link's fragment, which no server saw; null once it was used or dropped. */
export const came = signal(takeCode())

addEventListener("hashchange", () => {
  came.value = takeCode() ?? came.value
})
