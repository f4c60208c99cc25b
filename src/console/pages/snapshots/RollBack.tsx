/** Rolls a Sandbox back to a snapshot, once a person has read what that costs. */
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import type { Snapshot } from "../../../../schemas/SnapshotRecord.ts"
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { useKeys } from "../useKeys.ts"

interface Asked {
  readonly sandbox: Sandbox
  readonly snapshot: Snapshot
  readonly close: () => void
  readonly done: () => void
}

export const RollBack = ({ sandbox: { id }, snapshot, close, done }: Asked) => {
  const keyOf = useKeys()
  const path = `/api/v2/sandboxes/${id}/rollback`
  return (
    <Dialog title="Roll this Sandbox back?" close={close}>
      <p>
        It gets the files of <strong class="break">{snapshot.name ?? snapshot.id}</strong>. Its commands, terminals,
        previews and connections end. Its present files become a snapshot, which is deleted after 24 hours: until then
        you can roll back to them.
        {snapshot.memory ? " The processes of then go on, if the Sandbox has the same sizes as then." : ""}
      </p>
      <Form
        label="Roll back"
        busyLabel="Rolling back …"
        kind="danger"
        cancel={close}
        submit={async () => {
          const body = { snapshotId: snapshot.id }
          await ask("POST", path, { body, headers: { "idempotency-key": keyOf(path, body) } })
          done()
        }}
      />
    </Dialog>
  )
}
