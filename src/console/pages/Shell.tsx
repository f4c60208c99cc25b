/** The frame of each page: the navigation, and the signed-in account. */
import type { ComponentChildren } from "preact"
import { useLayoutEffect, useRef, useState } from "preact/hooks"
import type { ConsoleSession } from "../../../schemas/console/Session.ts"
import { came, path } from "./router.ts"
import { signOut } from "./session.ts"
import { Link } from "./ui/Link.tsx"
import { Side } from "./ui/Side.tsx"
import { useValue } from "./useValue.ts"

const pages: ReadonlyArray<readonly [path: string, name: string]> = [
  ["/", "Sandboxes"],
  ["/snapshots", "Snapshots"],
  ["/images", "Images"],
  ["/workspaces", "Workspaces"],
  ["/machines", "Machines"],
  ["/keys", "Keys"],
  ["/usage", "Usage"],
  ["/audit", "Audit"],
  ["/account", "Account"]
]

/** The title for a path, including subpages. */
const titleOf = (here: string): string =>
  here.startsWith("/sandboxes/")
    ? here.includes("/operations/")
      ? "Operation"
      : "Sandbox"
    : (pages.find(([to]) => to === here || (to !== "/" && here.startsWith(`${to}/`)))?.[1] ?? "No such page")

/**
 * Moves the focus with a navigation without a load, so that screen readers announce the new page. Before the page is
 * shown, as with each focus that is not asked for: later it would take it from a field that somebody is filling in.
 */
const useArrival = () => {
  const main = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  const here = useValue(path)
  useLayoutEffect(() => {
    document.title = `${titleOf(here)} · Atoll`
    if (!isFirst.current) main.current?.focus()
    isFirst.current = false
  }, [here])
  return main
}

/** Put away until the browser is closed: next time the notice matters again. */
const putAwayKey = "atoll.noPassphrase.putAway"

const NoPassphrase = () => {
  const [isAway, setAway] = useState(() => sessionStorage.getItem(putAwayKey) !== null)
  if (isAway) return null
  return (
    <div class="notice with-button">
      <p>
        This account has no passphrase yet, and your sign-in link works only once.{" "}
        <Link to="/account">Set an e-mail address and a passphrase</Link> to be able to sign in again.
      </p>
      <button
        type="button"
        class="button small"
        onClick={() => {
          sessionStorage.setItem(putAwayKey, "yes")
          setAway(true)
        }}
      >
        Not now
      </button>
    </div>
  )
}

export const Shell = ({ session, children }: { session: ConsoleSession; children: ComponentChildren }) => {
  const main = useArrival()
  const here = useValue(path)
  const link = useValue(came)
  return (
    <div class="shell">
      <Side name={session.account.name} more={session.email} signOut={() => signOut(false)}>
        <nav aria-label="Pages">
          <ul>
            {pages.map(([to, name]) => (
              <li key={to}>
                <Link to={to} isAround={here.startsWith(to === "/" ? "/sandboxes/" : `${to}/`)}>
                  {name}
                </Link>
              </li>
            ))}
            <li>
              <a href="/docs">API reference</a>
            </li>
          </ul>
        </nav>
      </Side>
      <main id="main" ref={main} tabIndex={-1}>
        {link === null ? null : (
          <p class="notice" role="status">
            You opened {link.kind === "link" ? "a sign-in link" : "an invitation"}, but are already signed in as{" "}
            <strong class="break">{session.account.name}</strong>. Sign out to use it: it is kept until then.
          </p>
        )}
        {session.email === null ? <NoPassphrase /> : null}
        {children}
      </main>
    </div>
  )
}
