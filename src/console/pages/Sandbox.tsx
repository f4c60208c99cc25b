/** One Sandbox: its facts, its actions and its tabs. */
import { Facts } from "./sandbox/Facts.tsx"
import { tabs } from "./sandbox/tabs.ts"
import { useSandbox } from "./sandbox/useSandbox.ts"
import { SandboxActions, titleOf } from "./sandboxes/SandboxActions.tsx"
import { Fault } from "./ui/Fault.tsx"
import { Link } from "./ui/Link.tsx"
import { Live } from "./ui/Live.tsx"

/** @param tab From the path; null: the first. */
export const Sandbox = ({ id, tab }: { id: string; tab: string | null }) => {
  const { loaded, feed } = useSandbox(id)
  const { reload } = loaded
  const sandbox = loaded.value?.sandbox ?? null
  const shown = tab === null ? tabs[0] : tabs.find(({ name }) => name === tab)
  return (
    <>
      <p>
        <Link to="/">All Sandboxes</Link>
      </p>
      <header class="page-head">
        <h1 class="break">{sandbox === null ? id : titleOf(sandbox)}</h1>
        {sandbox === null ? null : (
          <>
            <span class={`status ${sandbox.status}`} data-status={sandbox.status}>
              {sandbox.status}
            </span>
            <SandboxActions
              sandbox={sandbox}
              tell={reload}
              look={async () => {
                reload()
              }}
            />
          </>
        )}
        <Live feed={feed} at={loaded.at} />
      </header>
      <Fault fault={loaded.fault} retry={reload} />
      {sandbox === null ? null : (
        <>
          <Facts sandbox={sandbox} changed={reload} />
          {tabs.length > 1 ? (
            <nav aria-label="Parts of the Sandbox" class="tabs">
              {tabs.map(({ name, title }, index) => (
                <Link key={name} to={index === 0 ? `/sandboxes/${id}` : `/sandboxes/${id}/${name}`}>
                  {title}
                </Link>
              ))}
            </nav>
          ) : null}
          {shown === undefined ? (
            <p class="empty">A Sandbox has no part of this name.</p>
          ) : (
            <shown.Tab key={`${shown.name} ${id}`} sandbox={sandbox} />
          )}
        </>
      )}
    </>
  )
}
