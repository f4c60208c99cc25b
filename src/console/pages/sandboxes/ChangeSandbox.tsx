import { useState } from "preact/hooks"
import type { Sandbox, UpdateSandboxRequest } from "../../../../schemas/Sandbox.ts"
import { ApiFault, ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { FieldFaults, readAll } from "../ui/fieldFaults.ts"
import { NameField, SandboxFields } from "./SandboxFields.tsx"
import { SizeFields } from "./SizeFields.tsx"
import { changesOf, givenOf } from "./sandboxForm.ts"
import { sizeChangesIn } from "./sizes.ts"

/** What runs needs its memory: the only refusal of a size that names no field. */
const atItsField = (fault: unknown): never => {
  throw fault instanceof ApiFault && fault.code === "MEMORY_IN_USE"
    ? new FieldFaults({ memoryBytes: fault.message })
    : fault
}

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
          const { others, profile } = readAll({
            others: () => changesOf(shown, givenOf(data)),
            profile: () => sizeChangesIn(shown.profile, data)
          })
          if (others !== null || profile !== null) {
            const body: UpdateSandboxRequest = { ...others, ...(profile === null ? {} : { profile }) }
            await ask("PATCH", `/api/v2/sandboxes/${shown.id}`, { body }).catch(atItsField)
            changed()
          }
          close()
        }}
      >
        <NameField sandbox={shown} />
        <SizeFields sandbox={shown} />
        <SandboxFields sandbox={shown} />
      </Form>
    </Dialog>
  )
}
