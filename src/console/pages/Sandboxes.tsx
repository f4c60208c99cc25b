/** All Sandboxes of the account. */
import { useMemo, useState } from "preact/hooks"
import type { Sandbox } from "../../../schemas/Sandbox.ts"
import type { Workspace } from "../../../schemas/Workspace.ts"
import { get } from "./api.ts"
import { count, size } from "./format.ts"
import { useLoad } from "./load.ts"
import { navigate } from "./router.ts"
import { CreateSandbox } from "./sandboxes/CreateSandbox.tsx"
import { everything, type Filter, filtered } from "./sandboxes/filter.ts"
import { SandboxActions, titleOf } from "./sandboxes/SandboxActions.tsx"
import { useSandboxes } from "./sandboxes/useSandboxes.ts"
import { Fault } from "./ui/Fault.tsx"
import { Field, Select } from "./ui/Field.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Link } from "./ui/Link.tsx"
import { Live } from "./ui/Live.tsx"
import { Pane } from "./ui/Pane.tsx"
import { WindowedRows } from "./ui/WindowedRows.tsx"

const statuses: Readonly<Record<Sandbox["status"], true>> = {
  pending: true,
  running: true,
  stopping: true,
  restoring: true,
  stopped: true,
  sleeping: true,
  deleting: true,
  deleted: true,
  expired: true,
  failed: true
}

const statusOptions = [
  ["kept", "All but deleted"],
  ["all", "All"],
  ...Object.keys(statuses).map((status) => [status, status] as const)
] as const

export const Status = ({ sandbox: { status, statusReason } }: { sandbox: Sandbox }) => (
  <span class={`status ${status}`} {...(statusReason === null ? {} : { title: statusReason.message })}>
    {status}
  </span>
)

/** A chosen workspace that is not loaded, or does not exist, is shown by its id. */
const workspaceOptions = (known: ReadonlyArray<Workspace>, chosen: string) => [
  ...known.map(({ id, name }) => [id, name] as const),
  ...(chosen === "" || known.some(({ id }) => id === chosen) ? [] : [[chosen, chosen] as const])
]

/** @param deleted How many are deleted, and still listed. */
const Invitation = ({ create, deleted }: { create: () => void; deleted: number }) => (
  <div class="empty">
    <p>
      {deleted === 0 ? "There are no Sandboxes yet." : "All Sandboxes are deleted."} A Sandbox is an isolated machine
      with a volume at /workspace.
    </p>
    <button type="button" class="button primary" onClick={create}>
      Create a Sandbox
    </button>
  </div>
)

/** @param workspaceId From the path: the initial filter; null: all workspaces. */
export const Sandboxes = ({ workspaceId }: { workspaceId: string | null }) => {
  const { loaded, sandboxes, tell, look, feed } = useSandboxes()
  const workspaces = useLoad("workspaces", (signal) =>
    get<{ readonly workspaces: ReadonlyArray<Workspace> }>("/api/v2/workspaces", signal)
  )
  const [filter, setFilter] = useState<Filter>({ ...everything, workspaceId: workspaceId ?? "" })
  const [creates, setCreates] = useState(false)
  const known = workspaces.value?.workspaces ?? []
  const names = useMemo(() => new Map(known.map(({ id, name }) => [id, name])), [known])
  const shown = useMemo(() => filtered(sandboxes, filter), [sandboxes, filter])
  const isUnfiltered = filter.words === "" && filter.workspaceId === "" && filter.status === everything.status
  const change = (changed: Partial<Filter>) => setFilter((before) => ({ ...before, ...changed }))

  return (
    <>
      <h1>Sandboxes</h1>
      <Pane
        title="All Sandboxes"
        loaded={loaded}
        age={<Live feed={feed} at={loaded.at} />}
        actions={
          <button
            type="button"
            class="button primary"
            onClick={() => setCreates(true)}
            disabled={workspaces.value === null}
          >
            Create
          </button>
        }
      >
        {() => (
          <>
            <Fault fault={workspaces.fault} retry={workspaces.reload} />
            <search class="filters">
              <Select
                label="Status"
                name="status"
                value={filter.status}
                options={statusOptions}
                onChoice={(status) => change({ status })}
              />
              <Select
                label="Workspace"
                name="workspace"
                value={filter.workspaceId}
                options={[["", "Any"], ...workspaceOptions(known, filter.workspaceId)]}
                onChoice={(workspaceId) => change({ workspaceId })}
              />
              <Field
                label="Search"
                type="search"
                placeholder="Name, id, key=value"
                value={filter.words}
                onText={(words) => change({ words })}
              />
              <p class="found" role="status">
                {count(shown.length)} of {count(sandboxes.length)}
              </p>
            </search>
            {shown.length === 0 ? (
              isUnfiltered ? (
                <Invitation create={() => setCreates(true)} deleted={sandboxes.length} />
              ) : (
                <p class="empty">No Sandbox matches the filters.</p>
              )
            ) : (
              <WindowedRows
                label="Sandboxes"
                layout="of-sandboxes"
                columns={["Name", "Status", "Workspace", "Machine", "Created", "Actions"]}
                rows={shown}
                keyOf={({ id }) => id}
                cells={(sandbox) => [
                  <span key="name" class="two-lines">
                    <Link to={`/sandboxes/${sandbox.id}`}>{titleOf(sandbox)}</Link>
                    {sandbox.name === null ? null : <code class="soft">{sandbox.id}</code>}
                  </span>,
                  <Status key="status" sandbox={sandbox} />,
                  names.get(sandbox.workspaceId) ?? sandbox.workspaceId,
                  `${sandbox.profile.vcpus} vCPU · ${size(sandbox.profile.memoryBytes)} · ${sandbox.runtime}`,
                  <Instant key="created" at={sandbox.createdAt} />,
                  <SandboxActions key="actions" sandbox={sandbox} tell={tell} look={look} />
                ]}
              />
            )}
          </>
        )}
      </Pane>
      {creates ? (
        <CreateSandbox
          workspaces={known}
          within={filter.workspaceId === "" ? null : filter.workspaceId}
          close={() => setCreates(false)}
          made={({ id }) => navigate(`/sandboxes/${id}`)}
        />
      ) : null}
    </>
  )
}
