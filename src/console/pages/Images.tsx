/** All images of the account, and those that the operator gives to all. */
import { useState } from "preact/hooks"
import type { Image } from "../../../schemas/ImageRecord.ts"
import { ask } from "./api.ts"
import { size } from "./format.ts"
import { PullImage } from "./images/PullImage.tsx"
import { useImages } from "./images/useImages.ts"
import { Form } from "./ui/Action.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { Instant } from "./ui/Instant.tsx"
import { More } from "./ui/More.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Table } from "./ui/Table.tsx"

/** Its name for people. */
const titleOf = ({ name, reference }: Image): string => name ?? reference ?? "An uploaded image"

const DeleteImage = ({ image, close, done }: { image: Image; close: () => void; done: () => void }) => (
  <Dialog title="Delete this image?" close={close}>
    <p>
      <strong class="break">{titleOf(image)}</strong> is deleted, unless a Sandbox or a snapshot has it. This cannot be
      undone.
    </p>
    <Form
      label="Delete"
      busyLabel="Deleting …"
      kind="danger"
      cancel={close}
      submit={async () => {
        await ask("DELETE", `/api/v2/images/${image.id}`)
        done()
      }}
    />
  </Dialog>
)

const Row = ({ image, remove }: { image: Image; remove: () => void }) => (
  <tr data-image={image.id}>
    <td>
      {image.name === null ? null : <span class="break">{image.name}</span>}
      <code class="break block">{image.reference ?? "uploaded"}</code>
      <code class="soft block">{image.id}</code>
    </td>
    <td>
      <span class={`status ${image.status}`} data-status={image.status}>
        {image.status}
      </span>
      {image.statusReason === null ? null : <span class="soft block">{image.statusReason.message}</span>}
    </td>
    <td>{image.storedBytes === null ? <span class="soft">–</span> : size(image.storedBytes)}</td>
    <td>
      <Instant at={image.createdAt} />
    </td>
    <td>
      {image.operator ? (
        <span class="soft">of the operator</span>
      ) : (
        <button type="button" class="button small" aria-label={`Delete ${titleOf(image)}`} onClick={remove}>
          Delete
        </button>
      )}
    </td>
  </tr>
)

export const Images = () => {
  const listed = useImages()
  const [asked, setAsked] = useState<"pull" | Image | null>(null)
  const close = () => setAsked(null)
  const done = () => {
    close()
    listed.reload()
  }
  return (
    <>
      <div class="page-head">
        <h1>Images</h1>
        <button type="button" class="button" onClick={() => setAsked("pull")}>
          Pull an image
        </button>
      </div>
      <p class="lead">
        An image from a registry can be the root file system of new Sandboxes. What it stores costs as a snapshot does.
      </p>
      <Pane title="All images" loaded={listed}>
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">There are no images. Sandboxes have the root of their host.</p>
          ) : (
            <>
              <Table label="Images" columns={["Image", "Status", "Stored", "Pulled", "Actions"]}>
                {listed.entries.map((image) => (
                  <Row key={image.id} image={image} remove={() => setAsked(image)} />
                ))}
              </Table>
              <More list={listed} />
            </>
          )
        }
      </Pane>
      {asked === null ? null : asked === "pull" ? (
        <PullImage close={close} done={done} />
      ) : (
        <DeleteImage image={asked} close={close} done={done} />
      )}
    </>
  )
}
