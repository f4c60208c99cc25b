/** Builds an image of a Dockerfile. */
import { useCallback } from "preact/hooks"
import type { SnapshotList } from "../../../../schemas/Snapshot.ts"
import { ask, get, queryOf } from "../api.ts"
import { useLoad } from "../load.ts"
import { Form } from "../ui/Action.tsx"
import { Area } from "../ui/Area.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field, Select } from "../ui/Field.tsx"
import { useKeys } from "../useKeys.ts"
import { buildOf } from "./buildForm.ts"

const path = "/api/v2/images"

/** Snapshots with memory are no context. */
const ChooseContext = () => {
  const load = useCallback(
    (signal?: AbortSignal) => get<SnapshotList>(`/api/v2/snapshots${queryOf({ status: "ready", limit: 100 })}`, signal),
    []
  )
  const snapshots = (useLoad("snapshots for a build", load).value?.snapshots ?? []).filter(({ memory }) => !memory)
  return (
    <Select
      label="Context"
      name="contextSnapshotId"
      hint="The snapshot whose /workspace the Dockerfile copies from."
      options={[["", "None: an empty folder"] as const, ...snapshots.map(({ id, name }) => [id, name ?? id] as const)]}
    />
  )
}

export const BuildImage = ({ close, done }: { close: () => void; done: () => void }) => {
  const keyOf = useKeys()
  return (
    <Dialog title="Build an image from a Dockerfile" close={close}>
      <Form
        label="Build"
        busyLabel="Asking …"
        cancel={close}
        submit={async (data) => {
          const body = buildOf(data)
          const headers = { "idempotency-key": keyOf(path, body) }
          await ask("POST", path, { body, headers })
          done()
        }}
      >
        <p class="hint">It is built in a Sandbox of this account, which costs as any other until the build is over.</p>
        <Field label="Name" name="name" maxLength={128} hint="Optional; need not be unique." autocomplete="off" />
        <Area
          label="Dockerfile"
          name="dockerfile"
          rows={8}
          required
          placeholder={"FROM docker.io/library/alpine:3.22\nRUN apk add --no-cache git"}
        />
        <ChooseContext />
        <Field
          label="Target"
          name="target"
          maxLength={128}
          hint="The stage to build; by default the last one."
          autocomplete="off"
          spellcheck={false}
        />
        <Area
          label="Build arguments"
          name="buildArgs"
          rows={2}
          hint="NAME=value, one a line. They are no secrets: the build's command shows them."
        />
      </Form>
    </Dialog>
  )
}
