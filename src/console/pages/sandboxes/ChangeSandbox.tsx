import { useState } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { NameField, SandboxFields } from "./SandboxFields.tsx"
import { changesOf, givenOf } from "./sandboxForm.ts"

interface Asked {
  readonly sandbox: Sandbox
  readonly close: () => void
  readonly changed: () => void
}

export const ChangeSandbox = ({ sandbox, close, changed }: Asked) => {
  /** The Sandbox as it was when the dialog opened. */
  const [shown] = useState(sandbox)
  return (
    <Dialog title="Change this Sandbox" close={close}>
      <Form
        label="Save"
        busyLabel="Saving …"
        cancel={close}
        submit={async (data) => {
          const changes = changesOf(shown, givenOf(data))
          if (changes !== null) {
            await ask("PATCH", `/api/v2/sandboxes/${shown.id}`, { body: changes })
            changed()
          }
          close()
        }}
      >
        <NameField sandbox={shown} />
        <SandboxFields sandbox={shown} />
      </Form>
    </Dialog>
  )
}
