/** All images of the account, and those that the operator gives to all. */
import { useState } from "preact/hooks"
import type { Image } from "../../../schemas/ImageRecord.ts"
import { ask } from "./api.ts"
import { size } from "./format.ts"
import { BuildImage } from "./images/BuildImage.tsx"
import { PullImage } from "./images/PullImage.tsx"
import { UploadImage } from "./images/UploadImage.tsx"
import { useImages } from "./images/useImages.ts"
import { Output } from "./operation/Output.tsx"
import { isMovingImage } from "./states.ts"
import { Form } from "./ui/Action.tsx"
import { Dialog } from "./ui/Dialog.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Link } from "./ui/Link.tsx"
import { More } from "./ui/More.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Table } from "./ui/Table.tsx"

/** Its name for people. */
const titleOf = ({ name, reference, build }: Image): string =>
  name ?? reference ?? (build === null ? "An uploaded image" : "A built image")

const DeleteImage = ({ image, close, done }: { image: Image; close: () => void; done: () => void }) => (
  <Dialog title="Delete this image?" close={close}>
    <p>
      <strong class="break">{titleOf(image)}</strong> is deleted, unless a Sandbox or a snapshot has it. A build of it
      ends. This cannot be undone.
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

const intoView = (shown: HTMLElement | null): void => shown?.scrollIntoView({ block: "nearest" })

/** What the build of an image writes, live. */
const BuildOutput = ({ image, hide, ended }: { image: Image; hide: () => void; ended: () => void }) => (
  <section ref={intoView} class="pane" aria-labelledby="build-output">
    <header class="pane-head">
      <h2 id="build-output" class="break">
        Build of {titleOf(image)}
      </h2>
      {image.build?.operationId == null ? null : (
        <Link to={`/sandboxes/${image.build.sandboxId}/operations/${image.build.operationId}`}>Details</Link>
      )}
      <button type="button" class="button small" onClick={hide}>
        Hide
      </button>
    </header>
    <Output path={`/api/v2/images/${image.id}/build`} ended={ended} />
  </section>
)

/** Whether its build has output, or soon will. */
const hasOutput = ({ status, build }: Image): boolean =>
  build !== null && (build.operationId !== null || isMovingImage(status))

interface Listing {
  readonly image: Image
  readonly isOutputShown: boolean
  readonly turnOutput: () => void
  readonly remove: () => void
}

const Row = ({ image, isOutputShown, turnOutput, remove }: Listing) => (
  <tr data-image={image.id}>
    <td>
      {image.name === null ? null : <span class="break">{image.name}</span>}
      <code class="break block">{image.reference ?? (image.build === null ? "uploaded" : "built")}</code>
      <code class="soft block">{image.id}</code>
    </td>
    <td>
      <span class={`status ${image.status}`} data-status={image.status}>
        {image.status}
      </span>
      {image.statusReason === null ? null : <span class="soft block">{image.statusReason.message}</span>}
      {image.build === null ? null : (
        <span class="block">
          <Link to={`/sandboxes/${image.build.sandboxId}`}>Sandbox</Link>{" "}
          {hasOutput(image) ? (
            <button
              type="button"
              class="button small"
              aria-label={`Output of ${titleOf(image)}`}
              aria-expanded={isOutputShown}
              onClick={turnOutput}
            >
              Output
            </button>
          ) : null}
        </span>
      )}
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

type Listed = ReturnType<typeof useImages>
type Asked = "pull" | "build" | "upload" | { readonly remove: Image }

interface AskedDialog {
  readonly asked: Asked
  readonly listed: Listed
  readonly ask: (asked: Asked | null) => void
  /** An image is being built. */
  readonly built: (imageId: string) => void
}

/** The dialog that is asked for. */
const Shown = ({ asked, listed, ask, built }: AskedDialog) => {
  const close = () => ask(null)
  const done = () => {
    close()
    listed.reload()
  }
  if (asked === "pull") return <PullImage close={close} done={done} />
  if (asked === "upload") return <UploadImage close={close} done={done} />
  if (asked === "build") {
    return (
      <BuildImage
        close={close}
        done={(imageId) => {
          done()
          built(imageId)
        }}
      />
    )
  }
  return <DeleteImage image={asked.remove} close={close} done={done} />
}

export const Images = () => {
  const listed = useImages()
  const [asked, setAsked] = useState<Asked | null>(null)
  const [builtId, setBuilt] = useState<string | null>(null)
  const built = listed.entries.find(({ id }) => id === builtId)
  return (
    <>
      <div class="page-head">
        <h1>Images</h1>
        <button type="button" class="button" onClick={() => setAsked("build")}>
          Build from a Dockerfile
        </button>
        <button type="button" class="button" onClick={() => setAsked("upload")}>
          Upload an archive
        </button>
        <button type="button" class="button" onClick={() => setAsked("pull")}>
          Pull an image
        </button>
      </div>
      <p class="lead">
        An image from a registry, of a Dockerfile or of an archive can be the root file system of new Sandboxes. What it
        stores costs as a snapshot does.
      </p>
      {built === undefined ? null : (
        <BuildOutput key={built.id} image={built} hide={() => setBuilt(null)} ended={listed.reload} />
      )}
      <Pane title="All images" loaded={listed}>
        {() =>
          listed.entries.length === 0 ? (
            <p class="empty">There are no images. Sandboxes have the root of their host.</p>
          ) : (
            <>
              <Table label="Images" columns={["Image", "Status", "Stored", "Created", "Actions"]}>
                {listed.entries.map((image) => (
                  <Row
                    key={image.id}
                    image={image}
                    isOutputShown={image.id === builtId}
                    turnOutput={() => setBuilt(image.id === builtId ? null : image.id)}
                    remove={() => setAsked({ remove: image })}
                  />
                ))}
              </Table>
              <More list={listed} />
            </>
          )
        }
      </Pane>
      {asked === null ? null : <Shown asked={asked} listed={listed} ask={setAsked} built={setBuilt} />}
    </>
  )
}
