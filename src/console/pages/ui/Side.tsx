/** The side bar of signed-in pages: navigation, the account's name, and the sign-out. */
import type { ComponentChildren } from "preact"
import { useAction } from "./Action.tsx"
import { Brand } from "./Brand.tsx"
import { Fault } from "./Fault.tsx"

interface Side {
  readonly name: string
  readonly more: string | null
  readonly signOut: () => Promise<void>
  readonly children?: ComponentChildren
}

export const Side = ({ name, more, signOut, children }: Side) => {
  const leaving = useAction(signOut)
  return (
    <>
      <a class="skip" href="#main">
        Skip to the page
      </a>
      <header class="side">
        <Brand />
        {children}
        <div class="who">
          <p>
            <strong>{name}</strong>
            {more === null ? null : <span class="soft">{more}</span>}
          </p>
          <button type="button" class="button small" onClick={() => void leaving.run()} aria-disabled={leaving.isBusy}>
            Sign out
          </button>
          <Fault fault={leaving.fault} />
        </div>
      </header>
    </>
  )
}
