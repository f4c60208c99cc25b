/** One Operation: its facts, its output, its events, and its history. */
import { useCallback, useEffect } from "preact/hooks"
import type { Operation as OperationBody, OperationResponse } from "../../../../schemas/Operation.ts"
import type { DeclinedEventList } from "../../../../schemas/Transition.ts"
import { get } from "../api.ts"
import { useLoad } from "../load.ts"
import { Life } from "../machine/Life.tsx"
import { operationKind } from "../machine/operationKind.ts"
import { useLife } from "../machine/useLife.ts"
import { Fault } from "../ui/Fault.tsx"
import { Link } from "../ui/Link.tsx"
import { Live } from "../ui/Live.tsx"
import { CancelOperation } from "./CancelOperation.tsx"
import { shortCommand } from "./commandText.ts"
import { OperationFacts } from "./OperationFacts.tsx"
import { Outcome } from "./Outcome.tsx"
import { Output } from "./Output.tsx"
import { Races } from "./Races.tsx"

/** The loser of a race arrives right after the winner: after a transition, rejected events are loaded once more, so much later. */
const losersMs = 1000

const useDeclined = (path: string, revision: number) => {
  const loaded = useLoad(path, (signal) => get<DeclinedEventList>(`${path}/declined`, signal))
  const { reload } = loaded
  useEffect(() => {
    if (revision === 0) return
    reload()
    const timer = setTimeout(reload, losersMs)
    return () => clearTimeout(timer)
  }, [revision, reload])
  // The stream has no rejected events, so they are loaded again when the page becomes visible.
  useEffect(() => {
    const look = () => {
      if (document.visibilityState === "visible") reload()
    }
    document.addEventListener("visibilitychange", look)
    return () => document.removeEventListener("visibilitychange", look)
  }, [reload])
  return loaded
}

export const Operation = ({ sandboxId, id }: { sandboxId: string; id: string }) => {
  const ofSandbox = `/api/v2/sandboxes/${sandboxId}`
  const path = `${ofSandbox}/operations/${id}`
  const life = useLife({ kind: operationKind, actorId: id, path, events: `${ofSandbox}/events` })
  const loaded = useLoad(path, (signal) => get<OperationResponse>(path, signal))
  const revision = life.stored?.revision ?? 0
  const declined = useDeclined(path, revision)
  const { reload } = loaded
  // Each transition loads the operation again.
  useEffect(() => {
    if (revision > 0) reload()
  }, [revision, reload])
  const reloadDeclined = declined.reload
  const changed = useCallback(() => {
    reload()
    reloadDeclined()
  }, [reload, reloadDeclined])
  const operation: OperationBody | null = loaded.value?.operation ?? null
  return (
    <>
      <p>
        <Link to={`/sandboxes/${sandboxId}/commands`}>All commands of the Sandbox</Link>
      </p>
      <header class="page-head">
        <h1 class="break command-title">{operation === null ? id : shortCommand(operation.argv)}</h1>
        {operation === null ? null : (
          <>
            <span role="status">
              <Outcome operation={operation} />
            </span>
            <CancelOperation operation={operation} tell={changed} />
          </>
        )}
        <Live feed={life.feed} at={life.at} />
      </header>
      <Fault fault={loaded.fault} retry={reload} />
      {operation === null ? null : (
        <>
          <section class="pane" aria-labelledby="output">
            <h2 id="output">Output</h2>
            <Output path={path} known={operation.output} ended={changed} />
          </section>
          <section class="pane" aria-labelledby="facts">
            <h2 id="facts">Facts</h2>
            <OperationFacts operation={operation} life={life} />
          </section>
          <Races life={life} loaded={declined} />
          <Life actorId={id} life={life} />
        </>
      )}
    </>
  )
}
