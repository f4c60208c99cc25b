/** Pulls an image from a registry. */
import { ask } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { Field } from "../ui/Field.tsx"
import { useKeys } from "../useKeys.ts"
import { ImageName } from "./ImageName.tsx"
import { trimmed } from "./trimmed.ts"

const path = "/api/v2/images"

export const PullImage = ({ close, done }: { close: () => void; done: () => void }) => {
  const keyOf = useKeys()
  return (
    <Dialog title="Pull an image" close={close}>
      <Form
        label="Pull"
        busyLabel="Asking …"
        cancel={close}
        submit={async (data) => {
          const body = {
            reference: trimmed(data, "reference") ?? "",
            name: trimmed(data, "name"),
            username: trimmed(data, "username"),
            password: String(data.get("password")) || null
          }
          await ask("POST", path, { body, headers: { "idempotency-key": keyOf(path, body) } })
          done()
        }}
      >
        <Field
          label="Reference"
          name="reference"
          maxLength={512}
          required
          hint="With its registry, such as docker.io/library/alpine:3.22."
          autocomplete="off"
          spellcheck={false}
        />
        <ImageName />
        <Field
          label="User of the registry"
          name="username"
          maxLength={255}
          hint="Only for a private image."
          autocomplete="off"
          spellcheck={false}
        />
        <Field
          label="Password or token"
          name="password"
          type="password"
          maxLength={4096}
          hint="Stored sealed, and never shown."
          autocomplete="new-password"
        />
      </Form>
    </Dialog>
  )
}
