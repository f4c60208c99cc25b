/** Builds an image of a Dockerfile: of its text, with a snapshot as the context, or of an archive that has both. */
import { useCallback, useState } from "preact/hooks"
import type { ImageResponse } from "../../../../schemas/ImageRecord.ts"
import type { SnapshotList } from "../../../../schemas/Snapshot.ts"
import { ask, get, queryOf } from "../api.ts"
import { useLoad } from "../load.ts"
import { Form } from "../ui/Action.tsx"
import { Area } from "../ui/Area.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field, Select } from "../ui/Field.tsx"
import { useKeys } from "../useKeys.ts"
import { archiveQueryOf, buildOf } from "./buildForm.ts"
import { ImageName } from "./ImageName.tsx"
import { useArchive } from "./useArchive.tsx"

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

/** @param done Called with the id of the image. */
export const BuildImage = ({ close, done }: { close: () => void; done: (imageId: string) => void }) => {
  const keyOf = useKeys()
  const [from, setFrom] = useState("text")
  const { send, field } = useArchive("A tar file of the context, plain or compressed with gzip.")
  const isText = from === "text"
  const image = async (data: FormData) => {
    if (!isText) return await send(`${path}/build?${archiveQueryOf(data)}`, data, true)
    const body = buildOf(data)
    return (await ask<ImageResponse>("POST", path, { body, headers: { "idempotency-key": keyOf(path, body) } })).image
  }
  return (
    <Dialog title="Build an image from a Dockerfile" close={close}>
      <Form label="Build" busyLabel="Asking …" cancel={close} submit={async (data) => done((await image(data)).id)}>
        <p class="hint">It is built in a Sandbox of this account, which costs as any other until the build is over.</p>
        <ImageName />
        <Select
          label="Source"
          name="from"
          value={from}
          options={[
            ["text", "A Dockerfile written here"],
            ["archive", "An archive with a Dockerfile and its context"]
          ]}
          onChoice={setFrom}
        />
        {isText ? (
          <>
            <Area
              label="Dockerfile"
              name="dockerfile"
              rows={8}
              required
              placeholder={"FROM docker.io/library/alpine:3.22\nRUN apk add --no-cache git"}
            />
            <ChooseContext />
          </>
        ) : (
          <>
            {field}
            <Field
              label="Path of the Dockerfile"
              name="dockerfile"
              placeholder="Dockerfile"
              autocomplete="off"
              spellcheck={false}
            />
          </>
        )}
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
