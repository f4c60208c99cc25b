/** One Sandbox: its statechart, and its whole life to go back and forth in. */
import { useEffect, useState } from "preact/hooks"
import type { SandboxResponse } from "../../../schemas/Sandbox.ts"
import { get } from "./api.ts"
import { useLoad } from "./load.ts"
import { Moment } from "./sandbox/Moment.tsx"
import { useLife } from "./sandbox/useLife.ts"
import { SandboxActions, titleOf } from "./sandboxes/SandboxActions.tsx"
import { Fault } from "./ui/Fault.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Link } from "./ui/Link.tsx"
import { Live } from "./ui/Live.tsx"

export const Sandbox = ({ id }: { id: string }) => {
  const life = useLife(id)
  const loaded = useLoad(id, (signal) => get<SandboxResponse>(`/api/v2/sandboxes/${id}`, signal))
  const revision = life.stored?.revision ?? 0
  const { reload } = loaded
  // What is told of it anew is asked for anew.
  useEffect(() => {
    if (revision > 0) reload()
  }, [revision, reload])
  /** Null: the newest, whichever it is. */
  const [chosen, choose] = useState<number | null>(null)
  useEffect(() => choose(null), [id])
  const sandbox = loaded.value?.sandbox ?? null

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
        <Live feed={life.feed} at={life.at} />
      </header>
      <Fault fault={loaded.fault} retry={reload} />
      {sandbox === null ? null : (
        <p class="soft">
          <code>{sandbox.id}</code> · made <Instant at={sandbox.createdAt} /> · generation {sandbox.generation}
          {sandbox.statusReason === null ? null : <> · {sandbox.statusReason.message}</>}
        </p>
      )}
      <section class="pane" aria-labelledby="life">
        <h2 id="life">Its life</h2>
        <Fault fault={life.fault} retry={life.reload} />
        {life.revisions.length === 0 ? (
          life.fault === null ? (
            <p class="waiting">Loading …</p>
          ) : null
        ) : (
          <Moment revisions={life.revisions} stored={life.stored} chosen={chosen} choose={choose} />
        )}
      </section>
    </>
  )
}
