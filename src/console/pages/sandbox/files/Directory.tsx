/** The contents of a folder, and their actions. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { FileStat } from "../../../../../schemas/Files.ts"
import { count, timeOfDay } from "../../format.ts"
import { useAction } from "../../ui/Action.tsx"
import { Fault } from "../../ui/Fault.tsx"
import { Field } from "../../ui/Field.tsx"
import { useValue } from "../../useValue.ts"
import { type Asks, DirectoryDialog } from "./DirectoryDialog.tsx"
import { FileRows } from "./FileRows.tsx"
import { FileTools } from "./FileTools.tsx"
import { arrivals, arrivalsKey } from "./uploadQueue.ts"
import { useDirectory } from "./useDirectory.ts"
import { useDroppedFiles } from "./useDroppedFiles.ts"
import { download } from "./write.ts"

interface Shown {
  readonly sandboxId: string
  readonly path: string
  /** The Sandbox's generation: a new one reloads the folder. */
  readonly generation: number
}

interface Loaded {
  readonly sandboxId: string
  readonly path: string
  readonly entries: ReadonlyArray<FileStat>
  readonly directory: ReturnType<typeof useDirectory>
  readonly ask: (asks: Asks) => void
  readonly download: (path: string) => void
}

const LoadedDirectory = ({ sandboxId, path, entries, directory: { state, at, reload }, ask, download }: Loaded) => {
  const [words, setWords] = useState("")
  const found = useMemo(() => {
    const word = words.toLowerCase()
    return entries.filter(({ name }) => name.toLowerCase().includes(word))
  }, [entries, words])
  return (
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
        <FileRows
          sandboxId={sandboxId}
          path={path}
          entries={found}
          rename={(entry) => ask({ what: "rename", entry })}
          remove={(entry) => ask({ what: "remove", entry })}
          download={download}
        />
      )}
    </>
  )
}

/** Moves the keyboard focus to the folder when the pressed button is gone with its row. */
const useFocusAfterChange = (state: ReturnType<typeof useDirectory>["state"]) => {
  const here = useRef<HTMLDivElement>(null)
  const hasActed = useRef(false)
  useEffect(() => {
    if (!hasActed.current || state === "loading") return
    hasActed.current = false
    if (document.activeElement === document.body) here.current?.focus({ preventScroll: true })
  }, [state])
  return { here, hasActed }
}

export const Directory = ({ sandboxId, path, generation }: Shown) => {
  const arrived = useValue(arrivals).get(arrivalsKey(sandboxId, path)) ?? 0
  const directory = useDirectory(sandboxId, path, generation * 1_000_000 + arrived)
  const [asks, setAsks] = useState<Asks | null>(null)
  const dropped = useDroppedFiles(sandboxId, path)
  const downloading = useAction((of: string) => download(sandboxId, of))
  const { entries, state, fault, reload } = directory
  const { here, hasActed } = useFocusAfterChange(state)
  const close = () => setAsks(null)
  const changed = () => {
    hasActed.current = true
    close()
    reload()
  }
  return (
    <div ref={here} tabIndex={-1} class={dropped.isOver ? "directory dropping" : "directory"} {...dropped.handlers}>
      <FileTools sandboxId={sandboxId} path={path} make={(what) => setAsks({ what })} />
      {dropped.refused === null ? null : (
        <p class="notice" role="alert">
          {dropped.refused}
        </p>
      )}
      <Fault fault={fault} retry={reload} />
      {entries === null ? (
        state === "loading" ? (
          <p class="waiting">Loading …</p>
        ) : null
      ) : (
        <LoadedDirectory
          sandboxId={sandboxId}
          path={path}
          entries={entries}
          directory={directory}
          ask={setAsks}
          download={(of) => void downloading.run(of)}
        />
      )}
      {downloading.fault === null ? null : (
        <div class="floating">
          <Fault fault={downloading.fault} />
        </div>
      )}
      {asks === null ? null : (
        <DirectoryDialog sandboxId={sandboxId} path={path} asks={asks} close={close} changed={changed} />
      )}
    </div>
  )
}
