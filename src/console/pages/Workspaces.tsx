/** The workspaces of the account: create, rename, and delete empty ones. */
import { useState } from "preact/hooks"
import type { Workspace } from "../../../schemas/Workspace.ts"
import { ApiFault, ask, get } from "./api.ts"
import { count, size } from "./format.ts"
import { useLoad } from "./load.ts"
import { Form } from "./ui/Action.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { Field } from "./ui/Field.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Link } from "./ui/Link.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Table } from "./ui/Table.tsx"
import { useKeys } from "./useKeys.ts"

type Asked = { readonly what: "create" } | { readonly what: "rename" | "delete"; readonly workspace: Workspace }

interface Answered {
  readonly close: () => void
  readonly done: () => void
}

const Named = ({ name, hint }: { name?: string; hint?: string }) => (
  <Field
    label="Name"
    name="name"
    maxLength={128}
    required
    autocomplete="off"
    {...(name === undefined ? {} : { defaultValue: name })}
    {...(hint === undefined ? {} : { hint })}
  />
)

const nameIn = (data: FormData): string => String(data.get("name")).trim()

const Create = ({ close, done }: Answered) => {
  const keyOf = useKeys()
  const path = "/api/v2/workspaces"
  return (
    <Dialog title="Create a workspace" close={close}>
      <Form
        label="Create"
        busyLabel="Creating …"
        cancel={close}
        submit={async (data) => {
          const body = { name: nameIn(data) }
          await ask("POST", path, { body, headers: { "idempotency-key": keyOf(path, body) } })
          done()
        }}
      >
        <Named hint="Need not be unique." />
      </Form>
    </Dialog>
  )
}

const Rename = ({ workspace: { id, name }, close, done }: Answered & { workspace: Workspace }) => (
  <Dialog title="Rename the workspace" close={close}>
    <Form
      label="Rename"
      busyLabel="Renaming …"
      cancel={close}
      submit={async (data) => {
        await ask("PATCH", `/api/v2/workspaces/${id}`, { body: { name: nameIn(data) } })
        done()
      }}
    >
      <Named name={name} />
    </Form>
  </Dialog>
)

const Delete = ({ workspace: { id, name }, close, done }: Answered & { workspace: Workspace }) => {
  const [isFull, setFull] = useState(false)
  return (
    <Dialog title="Delete this workspace?" close={close}>
      <p>
        <strong class="break">{name}</strong> is deleted; the costs of its Sandboxes are kept. This cannot be undone.
      </p>
      <Form
        label="Delete"
        busyLabel="Deleting …"
        kind="danger"
        cancel={close}
        submit={async () => {
          setFull(false)
          try {
            await ask("DELETE", `/api/v2/workspaces/${id}`)
          } catch (fault) {
            setFull(fault instanceof ApiFault && fault.code === "WORKSPACE_NOT_EMPTY")
            throw fault
          }
          done()
        }}
      />
      {isFull ? (
        <p>
          <Link to={`/workspaces/${id}`}>Show its Sandboxes</Link>
        </p>
      ) : null}
    </Dialog>
  )
}

export const Workspaces = () => {
  const loaded = useLoad("workspaces", (signal) =>
    get<{ readonly workspaces: ReadonlyArray<Workspace> }>("/api/v2/workspaces", signal)
  )
  const [asked, setAsked] = useState<Asked | null>(null)
  const close = () => setAsked(null)
  const done = () => {
    close()
    loaded.reload()
  }
  return (
    <>
      <h1>Workspaces</h1>
      <p class="lead">A workspace groups Sandboxes, and limits the total storage of their volumes.</p>
      <Pane
        title="All workspaces"
        loaded={loaded}
        actions={
          <button type="button" class="button primary" onClick={() => setAsked({ what: "create" })}>
            Create
          </button>
        }
      >
        {({ workspaces }) =>
          workspaces.length === 0 ? (
            <p class="empty">There are no workspaces yet. You can also create the first one with its first Sandbox.</p>
          ) : (
            <Table label="Workspaces" columns={["Name", "Sandboxes", "Storage", "Created", "Actions"]}>
              {workspaces.map((workspace) => (
                <tr key={workspace.id}>
                  <td>
                    <span class="break">
                      <Link to={`/workspaces/${workspace.id}`}>{workspace.name}</Link>
                    </span>
                    <code class="soft block">{workspace.id}</code>
                  </td>
                  <td>{count(workspace.sandboxCount)}</td>
                  <td>
                    {size(workspace.storageBytes)} <span class="soft">of {size(workspace.storageLimitBytes)}</span>
                  </td>
                  <td>
                    <Instant at={workspace.createdAt} />
                  </td>
                  <td>
                    <span class="actions">
                      <button
                        type="button"
                        class="button small"
                        aria-label={`Rename ${workspace.name}`}
                        onClick={() => setAsked({ what: "rename", workspace })}
                      >
                        Rename
                      </button>
                      <button
                        type="button"
                        class="button small"
                        aria-label={`Delete ${workspace.name}`}
                        onClick={() => setAsked({ what: "delete", workspace })}
                      >
                        Delete
                      </button>
                    </span>
                  </td>
                </tr>
              ))}
            </Table>
          )
        }
      </Pane>
      {asked === null ? null : asked.what === "create" ? (
        <Create close={close} done={done} />
      ) : asked.what === "rename" ? (
        <Rename workspace={asked.workspace} close={close} done={done} />
      ) : (
        <Delete workspace={asked.workspace} close={close} done={done} />
      )}
    </>
  )
}
