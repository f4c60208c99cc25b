/** Dialogs to create, rename and delete files and folders. */
import { useState } from "preact/hooks"
import type { FileStat } from "../../../../../schemas/Files.ts"
import { ApiFault } from "../../api.ts"
import { Form } from "../../ui/Action.tsx"
import { Dialog } from "../../ui/Dialog.tsx"
import { Check, Field } from "../../ui/Field.tsx"
import { faultOfName, folderOf, nameOf, within } from "./address.ts"
import { FileName } from "./FileName.tsx"
import { newFile, newFolder, remove, rename } from "./write.ts"

interface Asked {
  readonly sandboxId: string
  readonly close: () => void
}

const checkedName = (name: string): string => {
  const fault = faultOfName(name)
  if (fault !== null) throw new Error(fault)
  return name
}

interface New extends Asked {
  readonly what: "file" | "folder"
  readonly folder: string
  readonly made: (path: string) => void
}

export const NewDialog = ({ sandboxId, what, folder, close, made }: New) => (
  <Dialog title={what === "file" ? "A new file" : "A new folder"} close={close}>
    <Form
      label="Make it"
      busyLabel="Making …"
      cancel={close}
      submit={async (data) => {
        const path = within(folder, checkedName(String(data.get("name"))))
        await (what === "file" ? newFile(sandboxId, path) : newFolder(sandboxId, path))
        made(path)
      }}
    >
      <Field label="Name" name="name" required autocomplete="off" spellcheck={false} />
    </Form>
  </Dialog>
)

/** The text without line breaks, which a one-line field drops. */
const inField = (text: string): string => text.replace(/[\r\n]/g, "")

interface Renamed extends Asked {
  readonly path: string
  readonly done: (path: string) => void
}

export const RenameDialog = ({ sandboxId, path, close, done }: Renamed) => {
  const [name, setName] = useState(inField(nameOf(path)))
  const [folder, setFolder] = useState(inField(folderOf(path)))
  const [exists, setExists] = useState(false)
  /** An untouched value stays unchanged, even if the field cannot show it. */
  const kept = (given: string, was: string): string => (given === inField(was) ? was : given)
  return (
    <Dialog title="Rename" close={close}>
      <p class="break">
        <FileName name={nameOf(path)} />
      </p>
      <Form
        label="Rename"
        busyLabel="Renaming …"
        cancel={close}
        submit={async (data) => {
          const to = within(kept(folder.replace(/\/+$/, ""), folderOf(path)), checkedName(kept(name, nameOf(path))))
          if (to === path) return close()
          try {
            await rename(sandboxId, path, to, data.has("overwrite"))
          } catch (fault) {
            if (fault instanceof ApiFault && fault.code === "DESTINATION_EXISTS") setExists(true)
            throw fault
          }
          done(to)
        }}
      >
        <Field label="Name" name="name" value={name} onText={setName} required autocomplete="off" spellcheck={false} />
        <Field
          label="In the folder"
          name="folder"
          value={folder}
          onText={setFolder}
          required
          autocomplete="off"
          spellcheck={false}
        />
        {exists ? (
          <Check
            label="Replace what is there"
            name="overwrite"
            value="yes"
            hint="The existing file is then deleted. A folder that is not empty is never replaced."
          />
        ) : null}
      </Form>
    </Dialog>
  )
}

interface Removed extends Asked {
  readonly path: string
  readonly type: FileStat["type"]
  readonly done: () => void
}

export const RemoveDialog = ({ sandboxId, path, type, close, done }: Removed) => (
  <Dialog title={type === "directory" ? "Remove this folder?" : "Remove this file?"} close={close}>
    <p>
      <strong class="break">
        <FileName name={nameOf(path)} />
      </strong>{" "}
      {type === "directory" ? "and everything in it will be deleted." : "will be deleted."} This cannot be undone.
    </p>
    <Form
      label="Remove"
      busyLabel="Removing …"
      kind="danger"
      cancel={close}
      submit={async () => {
        await remove(sandboxId, path, type === "directory")
        done()
      }}
    />
  </Dialog>
)
