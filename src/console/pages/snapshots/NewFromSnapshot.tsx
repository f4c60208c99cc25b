/** Creates a Sandbox of a snapshot, and goes there. */
import type { SandboxResponse } from "../../../../schemas/Sandbox.ts"
import type { Snapshot } from "../../../../schemas/SnapshotRecord.ts"
import { ask } from "../api.ts"
import { navigate } from "../router.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Check, Field } from "../ui/Field.tsx"
import { useKeys } from "../useKeys.ts"

const path = "/api/v2/sandboxes"

export const NewFromSnapshot = ({ snapshot, close }: { snapshot: Snapshot; close: () => void }) => {
  const keyOf = useKeys()
  return (
    <Dialog title="New Sandbox from a snapshot" close={close}>
      <p>
        It begins with the files of <strong class="break">{snapshot.name ?? snapshot.id}</strong>
        {snapshot.envNames.length === 0 ? "" : ` and its variables (${snapshot.envNames.join(", ")})`}, in the same
        workspace.
      </p>
      <Form
        label="Create"
        busyLabel="Creating …"
        cancel={close}
        submit={async (data) => {
          const body = {
            workspaceId: snapshot.workspaceId,
            snapshotId: snapshot.id,
            name: String(data.get("name")).trim() || null,
            metadata: snapshot.metadata,
            networkEnabled: data.has("networkEnabled")
          }
          const headers = { "idempotency-key": keyOf(path, body) }
          const { sandbox } = await ask<SandboxResponse>("POST", path, { body, headers })
          navigate(`/sandboxes/${sandbox.id}`)
        }}
      >
        <Field label="Name" name="name" maxLength={128} hint="Optional; need not be unique." autocomplete="off" />
        <Check label="Network" name="networkEnabled" value="yes" defaultChecked={snapshot.networkEnabled} />
      </Form>
    </Dialog>
  )
}
