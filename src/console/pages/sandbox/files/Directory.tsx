/** The contents of a folder, and their actions. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { FileStat } from "../../../../../schemas/Files.ts"
import { count, size, timeOfDay } from "../../format.ts"
import { navigate } from "../../router.ts"
import { useAction } from "../../ui/Action.tsx"
import { Fault } from "../../ui/Fault.tsx"
import { Field } from "../../ui/Field.tsx"
import { Instant } from "../../ui/Instant.tsx"
import { Link } from "../../ui/Link.tsx"
import { WindowedRows } from "../../ui/WindowedRows.tsx"
import { useValue } from "../../useValue.ts"
import { addressOf, within } from "./address.ts"
import { NewDialog, RemoveDialog, RenameDialog } from "./dialogs.tsx"
import { FileKind, kindNames } from "./FileKind.tsx"
import { FileName } from "./FileName.tsx"
import { arrivals, arrivalsKey, upload } from "./uploadQueue.ts"
import { useDirectory } from "./useDirectory.ts"
import { visibleName } from "./visible.ts"
import { download } from "./write.ts"

type Asks = { readonly what: "file" | "folder" } | { readonly what: "rename" | "remove"; readonly entry: FileStat }

interface Shown {
  readonly sandboxId: string
  readonly path: string
  /** The Sandbox's generation: a new one reloads the folder. */
  readonly generation: number
}

/** Dropped folders look like files, but cannot be read as such. */
const foldersIn = (items: DataTransferItemList): ReadonlySet<string> =>
  new Set(
    [...items].flatMap((item) => {
      const entry = item.webkitGetAsEntry()
      return entry?.isDirectory === true ? [entry.name] : []
    })
  )

export const Directory = ({ sandboxId, path, generation }: Shown) => {
  const arrived = useValue(arrivals).get(arrivalsKey(sandboxId, path)) ?? 0
  const directory = useDirectory(sandboxId, path, generation * 1_000_000 + arrived)
  const [words, setWords] = useState("")
  const [asks, setAsks] = useState<Asks | null>(null)
  const [isOver, setIsOver] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  const chosen = useRef<HTMLInputElement>(null)
  const here = useRef<HTMLDivElement>(null)
  const hasActed = useRef(false)
  const downloading = useAction((of: string) => download(sandboxId, of))
  const { entries, state, fault, at, reload } = directory
  const found = useMemo(() => {
    const word = words.toLowerCase()
    return (entries ?? []).filter(({ name }) => name.toLowerCase().includes(word))
  }, [entries, words])
  const close = () => setAsks(null)
  const changed = () => {
    hasActed.current = true
    close()
    reload()
  }
  // The pressed button may be gone with its row: then the keyboard focus moves to the folder.
  useEffect(() => {
    if (!hasActed.current || state === "loading") return
    hasActed.current = false
    if (document.activeElement === document.body) here.current?.focus({ preventScroll: true })
  }, [state])
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setIsOver(false)
    const { dataTransfer } = event
    if (dataTransfer === null) return
    const folders = foldersIn(dataTransfer.items)
    setRefused(folders.size === 0 ? null : `Folders cannot be uploaded: ${[...folders].map(visibleName).join(", ")}`)
    upload(
      sandboxId,
      path,
      [...dataTransfer.files].filter(({ name }) => !folders.has(name))
    )
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: files can be dropped here, and chosen with the button
    <div
      ref={here}
      tabIndex={-1}
      class={isOver ? "directory dropping" : "directory"}
      onDragOver={(event) => {
        if (!event.dataTransfer?.types.includes("Files")) return
        event.preventDefault()
        setIsOver(true)
      }}
      onDragLeave={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setIsOver(false)
      }}
      onDrop={drop}
    >
      <div class="file-tools">
        <button type="button" class="button" onClick={() => setAsks({ what: "file" })}>
          New file
        </button>
        <button type="button" class="button" onClick={() => setAsks({ what: "folder" })}>
          New folder
        </button>
        <button type="button" class="button" onClick={() => chosen.current?.click()}>
          Upload
        </button>
        <input
          ref={chosen}
          type="file"
          multiple
          hidden
          aria-label="Files to upload"
          onChange={({ currentTarget }) => {
            upload(sandboxId, path, currentTarget.files ?? [])
            currentTarget.value = ""
          }}
        />
        <span class="hint">or drop files here</span>
      </div>
      {refused === null ? null : (
        <p class="notice" role="alert">
          {refused}
        </p>
      )}
      <Fault fault={fault} retry={reload} />
      {entries === null ? (
        state === "loading" ? (
          <p class="waiting">Loading …</p>
        ) : null
      ) : (
        <>
          <search class="filters">
            <Field label="Find here" type="search" value={words} onText={setWords} placeholder="Part of a name" />
            <p class="found" role="status" data-state={state}>
              {found.length === entries.length
                ? count(entries.length)
                : `${count(found.length)} of ${count(entries.length)}`}
              {state === "loading" ? ", loading …" : at === null ? "" : `, as of ${timeOfDay(at)}`}
            </p>
            <button type="button" class="button small" onClick={reload} aria-label="Refresh: Files">
              Refresh
            </button>
          </search>
          {state === "changing" ? (
            <p class="notice">This folder changed repeatedly while it was read, so some entries may be missing here.</p>
          ) : state === "cut" ? (
            <p class="notice">There are too many entries to show: only the first ones are listed.</p>
          ) : null}
          {found.length === 0 ? (
            <p class="empty">{entries.length === 0 ? "This folder is empty." : "No name here matches."}</p>
          ) : (
            <WindowedRows
              label="Contents of the folder"
              layout="of-files"
              columns={["Name", "Size", "Changed", "Mode", "Actions"]}
              rows={found}
              keyOf={({ name }) => name}
              cells={(entry) => {
                const { name, type, sizeBytes, mode, modifiedAt } = entry
                const to = within(path, name)
                const said = visibleName(name)
                return [
                  <span key="name" class="file-cell" title={said}>
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
                  <span key="actions" class="actions">
                    <button
                      type="button"
                      class="button small"
                      onClick={() => setAsks({ what: "rename", entry })}
                      aria-label={`Rename ${said}`}
                    >
                      Rename
                    </button>
                    <button
                      type="button"
                      class="button small"
                      onClick={() => setAsks({ what: "remove", entry })}
                      aria-label={`Remove ${said}`}
                    >
                      Remove
                    </button>
                    {type === "file" ? (
                      <button
                        type="button"
                        class="button small"
                        onClick={() => void downloading.run(to)}
                        aria-label={`Download ${said}`}
                      >
                        Download
                      </button>
                    ) : null}
                  </span>
                ]
              }}
            />
          )}
        </>
      )}
      {downloading.fault === null ? null : (
        <div class="floating">
          <Fault fault={downloading.fault} />
        </div>
      )}
      {asks === null ? null : asks.what === "rename" ? (
        <RenameDialog sandboxId={sandboxId} path={within(path, asks.entry.name)} close={close} done={changed} />
      ) : asks.what === "remove" ? (
        <RemoveDialog
          sandboxId={sandboxId}
          path={within(path, asks.entry.name)}
          type={asks.entry.type}
          close={close}
          done={changed}
        />
      ) : (
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
      )}
    </div>
  )
}
