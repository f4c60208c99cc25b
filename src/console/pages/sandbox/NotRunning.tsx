/** Said where a part of the page needs a machine that runs, and there is none. */

import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { ask, idempotencyKey } from "../api.ts"
import { isStartable, isUp } from "../states.ts"
import { useAction } from "../ui/Action.tsx"
import { Fault } from "../ui/Fault.tsx"
import "./NotRunning.css"

const said: Readonly<Record<Sandbox["status"], string>> = {
  running: "The Sandbox runs.",
  pending: "The Sandbox is being started.",
  stopping: "The Sandbox is being stopped.",
  restoring: "The Sandbox is being rolled back.",
  stopped: "The Sandbox is stopped; its volume is kept.",
  sleeping: "The Sandbox is asleep; its volume and its processes are kept.",
  failed: "The Sandbox failed.",
  deleting: "The Sandbox is being deleted.",
  deleted: "The Sandbox is deleted, with its volume.",
  expired: "The Sandbox could not be started."
}

interface Asked {
  readonly sandbox: Sandbox
  /** What a running Sandbox allows: the rest of "Start it to …". */
  readonly to: string
}

/** Renders nothing while the Sandbox runs. */
export const NotRunning = ({ sandbox: { id, status }, to }: Asked) => {
  const { isBusy, fault, run } = useAction(() =>
    ask("POST", `/api/v2/sandboxes/${id}/start`, { body: {}, headers: { "idempotency-key": idempotencyKey() } })
  )
  if (isUp(status)) return null
  const canStart = isStartable(status)
  return (
    <div class="not-running">
      <p role="status">
        {said[status]} {canStart ? `Start it to ${to}.` : ""}
      </p>
      {canStart ? (
        <button type="button" class="button primary" onClick={() => void run()} aria-disabled={isBusy}>
          {isBusy ? "Starting …" : "Start"}
        </button>
      ) : null}
      <Fault fault={fault} />
    </div>
  )
}
