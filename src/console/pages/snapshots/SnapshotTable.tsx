/** A table of snapshots, each with the actions that its state allows. */
import { useState } from "preact/hooks"
import type { Snapshot } from "../../../../schemas/SnapshotRecord.ts"
import { ask } from "../api.ts"
import { size } from "../format.ts"
import { isUsableSnapshot } from "../states.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Instant } from "../ui/Instant.tsx"
import { Link } from "../ui/Link.tsx"
import { Table } from "../ui/Table.tsx"
import { NewFromSnapshot } from "./NewFromSnapshot.tsx"

/** Its name for people. */
const titleOf = ({ id, name }: Snapshot): string => name ?? id

interface Asked {
  readonly what: "create" | "delete"
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

interface Shown {
  readonly snapshots: ReadonlyArray<Snapshot>
  /** Of several Sandboxes: each names its own. */
  readonly isOfAll: boolean
  readonly changed: () => void
}

export const SnapshotTable = ({ snapshots, isOfAll, changed }: Shown) => {
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
              {isOfAll ? (
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
              <span class="actions">
                {isUsableSnapshot(snapshot.status) ? (
                  <button
                    type="button"
                    class="button small"
                    aria-label={`New Sandbox from ${titleOf(snapshot)}`}
                    onClick={() => setAsked({ what: "create", snapshot })}
                  >
                    New Sandbox
                  </button>
                ) : null}
                <button
                  type="button"
                  class="button small"
                  aria-label={`Delete ${titleOf(snapshot)}`}
                  onClick={() => setAsked({ what: "delete", snapshot })}
                >
                  Delete
                </button>
              </span>
            </td>
          </tr>
        ))}
      </Table>
      {asked === null ? null : asked.what === "create" ? (
        <NewFromSnapshot snapshot={asked.snapshot} close={close} />
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
