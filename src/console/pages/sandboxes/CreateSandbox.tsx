/** Asks only for what is needed; everything else is below "More". */
import { useState } from "preact/hooks"
import type { CreateSandboxRequest, Sandbox, SandboxResponse } from "../../../../schemas/Sandbox.ts"
import type { Workspace } from "../../../../schemas/Workspace.ts"
import { ask } from "../api.ts"
import { ChooseImage, imageIn } from "../images/ChooseImage.tsx"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Check, Field, Select } from "../ui/Field.tsx"
import { FieldFaults, readAll } from "../ui/fieldFaults.ts"
import { useKeys } from "../useKeys.ts"
import { NameField, SandboxFields } from "./SandboxFields.tsx"
import { SizeFields } from "./SizeFields.tsx"
import { givenOf, newOf } from "./sandboxForm.ts"
import { sizesIn } from "./sizes.ts"

const anotherWorkspace = ""

/** Of the workspace that the first Sandbox of an account is created in. */
const firstWorkspaceName = "default"

interface Asked {
  readonly workspaces: ReadonlyArray<Workspace>
  /** Preselected workspace; null: the newest. */
  readonly within: string | null
  readonly close: () => void
  readonly made: (sandbox: Sandbox) => void
}

const workspaceNameIn = (data: FormData): string => {
  const name = String(data.get("workspaceName")).trim()
  if (name === "") throw new FieldFaults({ workspaceName: "Give the new workspace a name." })
  return name
}

export const CreateSandbox = ({ workspaces, within, close, made }: Asked) => {
  const offered = workspaces.find(({ id }) => id === within) ?? workspaces[0]
  const [workspaceId, setWorkspaceId] = useState(offered?.id ?? anotherWorkspace)
  const keyOf = useKeys()
  const post = <A,>(path: string, body: object): Promise<A> =>
    ask<A>("POST", path, { body, headers: { "idempotency-key": keyOf(path, body) } })

  const create = async (data: FormData) => {
    const { profile, asked } = readAll({ profile: () => sizesIn(data), asked: () => newOf(givenOf(data)) })
    const into =
      workspaceId === anotherWorkspace
        ? (await post<{ workspace: Workspace }>("/api/v2/workspaces", { name: workspaceNameIn(data) })).workspace.id
        : workspaceId
    const body: CreateSandboxRequest = {
      workspaceId: into,
      imageId: imageIn(data),
      networkEnabled: data.has("networkEnabled"),
      profile,
      ...asked
    }
    const { sandbox } = await post<SandboxResponse>("/api/v2/sandboxes", body)
    made(sandbox)
  }

  const newWorkspace = (
    <Field
      label="New workspace's name"
      name="workspaceName"
      maxLength={128}
      defaultValue={workspaces.length === 0 ? firstWorkspaceName : ""}
      hint={workspaces.length === 0 ? "Sandboxes are grouped by workspace." : undefined}
    />
  )
  return (
    <Dialog title="Create a Sandbox" close={close}>
      <Form label="Create" busyLabel="Creating …" submit={create} cancel={close}>
        <NameField sandbox={null} />
        {workspaces.length === 0 ? null : (
          <Select
            label="Workspace"
            name="workspaceId"
            value={workspaceId}
            onChoice={setWorkspaceId}
            options={[
              ...workspaces.map(({ id, name }) => [id, name] as const),
              [anotherWorkspace, "A new workspace …"] as const
            ]}
          />
        )}
        {workspaces.length > 0 && workspaceId === anotherWorkspace ? newWorkspace : null}
        <details class="more">
          <summary>More: network, image, sizes, metadata, variables, lifetime</summary>
          <div class="form">
            {workspaces.length === 0 ? newWorkspace : null}
            <ChooseImage />
            <Check
              label="Network"
              name="networkEnabled"
              value="yes"
              defaultChecked
              hint="Access to the internet, without the host's networks and private networks."
            />
            <SizeFields sandbox={null} />
            <SandboxFields sandbox={null} />
          </div>
        </details>
      </Form>
    </Dialog>
  )
}
