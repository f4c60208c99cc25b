/** Which page is shown: the path below /console, kept in the browser's history. */
import { signal } from "@preact/signals"

const base = "/console"

const read = (): string => {
  const path = location.pathname.slice(base.length).replace(/\/+$/, "")
  return path === "" ? "/" : path
}

/** Without /console: `/`, `/keys`, `/sandboxes/sbx_…`. */
export const path = signal(read())

export const hrefOf = (to: string): string => `${base}${to}`

export const navigate = (to: string, how: "push" | "replace" = "push"): void => {
  if (how === "push") history.pushState(null, "", hrefOf(to))
  else history.replaceState(null, "", hrefOf(to))
  path.value = read()
  scrollTo(0, 0)
}

addEventListener("popstate", () => {
  path.value = read()
})

/**
 * What a link carried in its fragment, which no server saw. It is taken out of the address, so that neither the history nor a
 * bookmark keeps it.
 */
export const takeCode = (): { readonly kind: "invitation" | "link"; readonly code: string } | null => {
  const found = /^#(invitation|link)=([\w~.-]+)$/.exec(location.hash)
  if (found === null) return null
  history.replaceState(null, "", location.pathname)
  return { kind: found[1] as "invitation" | "link", code: found[2]! }
}
