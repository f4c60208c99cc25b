import { useState } from "preact/hooks"
import type { Sandbox, SandboxResponse } from "../../../../schemas/Sandbox.ts"
import { ask, idempotencyKey } from "../api.ts"
import { isInhabited, isStartable, isVolumeless } from "../states.ts"
import { Form, useAction } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Fault } from "../ui/Fault.tsx"

/** Its name for people. */
export const titleOf = ({ id, name }: Sandbox): string => name ?? id

/** Nothing can be done with it any more. */
export const isGone = ({ status }: Pick<Sandbox, "status">): boolean => isVolumeless(status)

interface Asked {
  readonly sandbox: Sandbox
  readonly tell: (sandbox: Sandbox) => void
  readonly look: (id: string) => Promise<void>
}

/** The actions that its state allows. */
export const SandboxActions = ({ sandbox, tell, look }: Asked) => {
  const [asks, setAsks] = useState(false)
  const { id, status } = sandbox
  const { isBusy, fault, run } = useAction(async (what: "start" | "stop") => {
    const headers = what === "start" ? { "idempotency-key": idempotencyKey() } : {}
    tell((await ask<SandboxResponse>("POST", `/api/v2/sandboxes/${id}/${what}`, { body: {}, headers })).sandbox)
  })
  const title = titleOf(sandbox)
  return (
    <span class="actions">
      {isStartable(status) ? (
        <button
          type="button"
          class="button small"
          onClick={() => void run("start")}
          aria-disabled={isBusy}
          aria-label={`Start ${title}`}
        >
          {isBusy ? "Starting …" : "Start"}
        </button>
      ) : isInhabited(status) ? (
        <button
          type="button"
          class="button small"
          onClick={() => void run("stop")}
          aria-disabled={isBusy}
          aria-label={`Stop ${title}`}
        >
          {isBusy ? "Stopping …" : "Stop"}
        </button>
      ) : null}
      {isGone(sandbox) ? null : (
        <button type="button" class="button small" onClick={() => setAsks(true)} aria-label={`Delete ${title}`}>
          Delete
        </button>
      )}
      {fault === null ? null : (
        <div class="floating">
          <Fault fault={fault} />
        </div>
      )}
      {asks ? (
        <Dialog title="Delete this Sandbox?" close={() => setAsks(false)}>
          <p>
            <strong class="break">{title}</strong> and all files on its volume are deleted. This cannot be undone.
          </p>
          <Form
            label="Delete"
            busyLabel="Deleting …"
            kind="danger"
            cancel={() => setAsks(false)}
            submit={async () => {
              await ask("DELETE", `/api/v2/sandboxes/${id}`)
              await look(id)
              setAsks(false)
            }}
          />
        </Dialog>
      ) : null}
    </span>
  )
}
