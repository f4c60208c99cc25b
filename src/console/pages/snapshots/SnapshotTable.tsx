/** A table of snapshots, each with the actions that its state allows. */
import { useState } from "preact/hooks"
import type { Sandbox } from "../../../../schemas/Sandbox.ts"
import type { Snapshot } from "../../../../schemas/SnapshotRecord.ts"
import { ask } from "../api.ts"
import { size } from "../format.ts"
import { isCapturable, isUsableSnapshot } from "../states.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Instant } from "../ui/Instant.tsx"
import { Link } from "../ui/Link.tsx"
import { Table } from "../ui/Table.tsx"
import { NewFromSnapshot } from "./NewFromSnapshot.tsx"
import { RollBack } from "./RollBack.tsx"

/** Its name for people. */
const titleOf = ({ id, name }: Snapshot): string => name ?? id

interface Asked {
  readonly what: "create" | "rollback" | "delete"
  readonly snapshot: Snapshot
}

const DeleteSnapshot = ({ snapshot, close, done }: { snapshot: Snapshot; close: () => void; done: () => void }) => (
  <Dialog title="Delete this snapshot?" close={close}>
    <p>
      <strong class="break">{titleOf(snapshot)}</strong> is deleted. Sandboxes that were made of it keep their files.
      This cannot be undone.
    </p>
    <Form
      label="Delete"
      busyLabel="Deleting …"
      kind="danger"
      cancel={close}
      submit={async () => {
        await ask("DELETE", `/api/v2/snapshots/${snapshot.id}`)
        done()
      }}
    />
  </Dialog>
)

const Stored = ({ snapshot: { storedBytes, sizeBytes } }: { snapshot: Snapshot }) =>
  storedBytes === null || sizeBytes === null ? (
    <span class="soft">–</span>
  ) : (
    <>
      {size(storedBytes)} <span class="soft">of {size(sizeBytes)}</span>
    </>
  )

/** What its state allows. */
const Actions = ({
  snapshot,
  sandbox,
  ask
}: {
  snapshot: Snapshot
  sandbox: Sandbox | null
  ask: (what: Asked["what"]) => void
}) => (
  <span class="actions">
    {isUsableSnapshot(snapshot.status) ? (
      <button
        type="button"
        class="button small"
        aria-label={`New Sandbox from ${titleOf(snapshot)}`}
        onClick={() => ask("create")}
      >
        New Sandbox
      </button>
    ) : null}
    {sandbox !== null && isUsableSnapshot(snapshot.status) && isCapturable(sandbox.status) ? (
      <button
        type="button"
        class="button small"
        aria-label={`Roll back to ${titleOf(snapshot)}`}
        onClick={() => ask("rollback")}
      >
        Roll back
      </button>
    ) : null}
    <button type="button" class="button small" aria-label={`Delete ${titleOf(snapshot)}`} onClick={() => ask("delete")}>
      Delete
    </button>
  </span>
)

interface Shown {
  readonly snapshots: ReadonlyArray<Snapshot>
  /** Whose they are, where they are all of one. Null: each names its own. */
  readonly sandbox: Sandbox | null
  readonly changed: () => void
}

export const SnapshotTable = ({ snapshots, sandbox, changed }: Shown) => {
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = () => setAsked(null)
  return (
    <>
      <Table label="Snapshots" columns={["Snapshot", "Status", "Stored", "Taken", "Expires", "Actions"]}>
        {snapshots.map((snapshot) => (
          <tr key={snapshot.id} data-snapshot={snapshot.id}>
            <td>
              {snapshot.name === null ? null : <span class="break">{snapshot.name}</span>}
              <code class="soft block">{snapshot.id}</code>
              {sandbox === null && snapshot.sandboxId === null ? <span class="soft block">imported</span> : null}
              {sandbox === null && snapshot.sandboxId !== null ? (
                <span class="soft block">
                  of{" "}
                  <Link to={`/sandboxes/${snapshot.sandboxId}/snapshots`}>
                    <code>{snapshot.sandboxId}</code>
                  </Link>
                </span>
              ) : null}
            </td>
            <td>
              <span class={`status ${snapshot.status}`} data-status={snapshot.status}>
                {snapshot.status}
              </span>
              {snapshot.statusReason === null ? null : <span class="soft block">{snapshot.statusReason.message}</span>}
            </td>
            <td>
              <Stored snapshot={snapshot} />
            </td>
            <td>
              <Instant at={snapshot.createdAt} />
            </td>
            <td>
              <Instant at={snapshot.expiresAt} none="never" />
            </td>
            <td>
              <Actions snapshot={snapshot} sandbox={sandbox} ask={(what) => setAsked({ what, snapshot })} />
            </td>
          </tr>
        ))}
      </Table>
      {asked === null ? null : asked.what === "create" ? (
        <NewFromSnapshot snapshot={asked.snapshot} close={close} />
      ) : asked.what === "rollback" && sandbox !== null ? (
        <RollBack
          sandbox={sandbox}
          snapshot={asked.snapshot}
          close={close}
          done={() => {
            close()
            changed()
          }}
        />
      ) : (
        <DeleteSnapshot
          snapshot={asked.snapshot}
          close={close}
          done={() => {
            close()
            changed()
          }}
        />
      )}
    </>
  )
}
