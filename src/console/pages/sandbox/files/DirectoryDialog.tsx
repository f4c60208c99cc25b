/** The dialog that an action of a folder opens. */
import type { FileStat } from "../../../../../schemas/Files.ts"
import { navigate } from "../../router.ts"
import { addressOf, within } from "./address.ts"
import { NewDialog, RemoveDialog, RenameDialog } from "./dialogs.tsx"

export type Asks =
  | { readonly what: "file" | "folder" }
  | { readonly what: "rename" | "remove"; readonly entry: FileStat }

interface Shown {
  readonly sandboxId: string
  readonly path: string
  readonly asks: Asks
  readonly close: () => void
  readonly changed: () => void
}

export const DirectoryDialog = ({ sandboxId, path, asks, close, changed }: Shown) => {
  switch (asks.what) {
    case "rename":
      return <RenameDialog sandboxId={sandboxId} path={within(path, asks.entry.name)} close={close} done={changed} />
    case "remove":
      return (
        <RemoveDialog
          sandboxId={sandboxId}
          path={within(path, asks.entry.name)}
          type={asks.entry.type}
          close={close}
          done={changed}
        />
      )
    default:
      return (
        <NewDialog
          sandboxId={sandboxId}
          what={asks.what}
          folder={path}
          close={close}
          made={(made) => {
            changed()
            if (asks.what === "file") navigate(addressOf(sandboxId, { path: made, isEdited: true }))
          }}
        />
      )
  }
}
