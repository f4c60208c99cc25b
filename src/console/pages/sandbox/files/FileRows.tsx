/** The entries of a folder, as rows with their actions. */
import type { FileStat } from "../../../../../schemas/Files.ts"
import { size } from "../../format.ts"
import { Instant } from "../../ui/Instant.tsx"
import { Link } from "../../ui/Link.tsx"
import { WindowedRows } from "../../ui/WindowedRows.tsx"
import { addressOf, within } from "./address.ts"
import { FileKind, kindNames } from "./FileKind.tsx"
import { FileName } from "./FileName.tsx"
import { visibleName } from "./visible.ts"

interface Actions {
  readonly rename: (entry: FileStat) => void
  readonly remove: (entry: FileStat) => void
  readonly download: (path: string) => void
}

interface Shown extends Actions {
  readonly sandboxId: string
  readonly path: string
  readonly entries: ReadonlyArray<FileStat>
}

const EntryActions = ({
  entry,
  path,
  rename,
  remove,
  download
}: Actions & { readonly entry: FileStat; readonly path: string }) => {
  const said = visibleName(entry.name)
  return (
    <span class="actions">
      <button type="button" class="button small" onClick={() => rename(entry)} aria-label={`Rename ${said}`}>
        Rename
      </button>
      <button type="button" class="button small" onClick={() => remove(entry)} aria-label={`Remove ${said}`}>
        Remove
      </button>
      {entry.type === "file" ? (
        <button type="button" class="button small" onClick={() => download(path)} aria-label={`Download ${said}`}>
          Download
        </button>
      ) : null}
    </span>
  )
}

export const FileRows = ({ sandboxId, path, entries, ...actions }: Shown) => (
  <WindowedRows
    label="Contents of the folder"
    layout="of-files"
    columns={["Name", "Size", "Changed", "Mode", "Actions"]}
    rows={entries}
    keyOf={({ name }) => name}
    cells={(entry) => {
      const { name, type, sizeBytes, mode, modifiedAt } = entry
      const to = within(path, name)
      return [
        <span key="name" class="file-cell" title={visibleName(name)}>
          <FileKind type={type} />
          <Link to={addressOf(sandboxId, { path: to, isEdited: false })}>
            <FileName name={name} />
          </Link>
        </span>,
        type === "file" ? (
          size(sizeBytes)
        ) : (
          <span key="size" class="soft">
            {kindNames[type]}
          </span>
        ),
        <Instant key="changed" at={modifiedAt} />,
        <code key="mode">{mode}</code>,
        <EntryActions key="actions" entry={entry} path={to} {...actions} />
      ]
    }}
  />
)
