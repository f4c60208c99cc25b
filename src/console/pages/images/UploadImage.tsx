/** Makes an image of an archive. */
import { queryOf } from "../api.ts"
import { Form } from "../ui/Action.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { ImageName } from "./ImageName.tsx"
import { trimmed } from "./trimmed.ts"
import { useArchive } from "./useArchive.tsx"

export const UploadImage = ({ close, done }: { close: () => void; done: () => void }) => {
  const { send, field } = useArchive("A tar file, as docker save and skopeo write it.")
  return (
    <Dialog title="Upload an image" close={close}>
      <Form
        label="Upload"
        busyLabel="Uploading …"
        cancel={close}
        submit={async (data) => {
          await send(`/api/v2/images/upload${queryOf({ name: trimmed(data, "name") })}`, data, false)
          done()
        }}
      >
        {field}
        <ImageName />
      </Form>
    </Dialog>
  )
}
