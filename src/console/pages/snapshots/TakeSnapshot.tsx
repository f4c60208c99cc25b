/** Takes a snapshot of a Sandbox. */
import { useRef } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { ask } from "../api.ts"
import { secondsOf } from "../sandboxes/span.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { readAll } from "../ui/fieldFaults.ts"
import { useKeys } from "../useKeys.ts"
import { MemoryChoice, withMemory } from "./MemoryChoice.tsx"

const after = "Delete after"

interface Asked {
  readonly sandbox: Sandbox
  readonly close: () => void
  readonly done: () => void
}

export const TakeSnapshot = ({ sandbox, close, done }: Asked) => {
  const keyOf = useKeys()
  /** A retry sends the same instant with the same key. */
  const bodies = useRef(new Map<string, object>())
  const path = `/api/v2/sandboxes/${sandbox.id}/snapshots`
  return (
    <Dialog title="Take a snapshot" close={close}>
      <p>It keeps the files as they are now, and outlives the Sandbox. What runs goes on.</p>
      <Form
        label="Take"
        busyLabel="Taking …"
        cancel={close}
        submit={async (data) => {
          const name = String(data.get("name")).trim() || null
          const memory = withMemory(data)
          const { expires } = readAll({ expires: () => secondsOf(after, String(data.get("expires"))) })
          const key = keyOf(path, { name, memory, expires })
          const expiresAt = expires === null ? null : new Date(Date.now() + expires * 1000).toISOString()
          const body = bodies.current.get(key) ?? { name, memory, expiresAt }
          bodies.current.set(key, body)
          await ask("POST", path, { body, headers: { "idempotency-key": key } })
          done()
        }}
      >
        <Field label="Name" name="name" maxLength={128} hint="Optional; need not be unique." autocomplete="off" />
        <Field
          label={after}
          name="expires"
          hint="A time such as 8 h or 7 d; empty: never."
          autocomplete="off"
          spellcheck={false}
        />
        <MemoryChoice
          sandbox={sandbox}
          hint="The running processes, too. The Sandbox stands still for the last part of the copy."
        />
      </Form>
    </Dialog>
  )
}
