/** The files of a Sandbox: folders, and one file at a time. */

import { useEffect, useState } from "preact/hooks"
import type { FileStatResponse } from "../../../../../schemas/Files.ts"
import { ApiFault, get } from "../../api.ts"
import { useLoad } from "../../load.ts"
import { navigate, query } from "../../router.ts"
import { isUp as isRunning, isVolumeless } from "../../states.ts"
import { Fault } from "../../ui/Fault.tsx"
import { useValue } from "../../useValue.ts"
import { NotRunning } from "../NotRunning.tsx"
import type { TabProps } from "../TabProps.ts"
import { addressOf, apiOf, placeOf, root } from "./address.ts"
import { Directory } from "./Directory.tsx"
import { Editor } from "./Editor.tsx"
import "./files.css"
import { FileView } from "./FileView.tsx"
import { Uploads } from "./Uploads.tsx"
import { Way } from "./Way.tsx"

type Found = { readonly is: "directory" } | { readonly is: "file"; readonly stat: FileStatResponse }

/** Follows a link to its target, if that is a directory. */
const find = async (sandboxId: string, path: string, signal: AbortSignal): Promise<Found> => {
  if (path === root) return { is: "directory" }
  const stat = await get<FileStatResponse>(apiOf(sandboxId, "stat", path), signal)
  if (stat.type === "directory") return { is: "directory" }
  if (stat.type !== "symlink") return { is: "file", stat }
  try {
    await get(apiOf(sandboxId, "list", path, { pageSize: 1 }), signal)
    return { is: "directory" }
  } catch (fault) {
    if (fault instanceof ApiFault && fault.code === "NOT_A_DIRECTORY") return { is: "file", stat }
    throw fault
  }
}

const At = ({ sandboxId, generation }: { sandboxId: string; generation: number }) => {
  const { path, isEdited } = placeOf(useValue(query))
  const [turn, setTurn] = useState(0)
  const [saved, setSaved] = useState<string | null>(null)
  const loaded = useLoad(`${sandboxId} ${generation} ${turn} ${path}`, (signal) => find(sandboxId, path, signal))
  useEffect(() => {
    if (saved !== path || isEdited) setSaved(null)
  }, [path, isEdited, saved])
  const { value, fault } = loaded
  const view = () => navigate(addressOf(sandboxId, { path, isEdited: false }), "replace")
  return (
    <>
      <Way sandboxId={sandboxId} path={path} />
      <Uploads sandboxId={sandboxId} />
      {saved === path ? (
        <p class="said" role="status">
          Saved.
        </p>
      ) : null}
      <Fault fault={fault} retry={loaded.reload} />
      {value === null ? (
        fault === null ? (
          <p class="waiting">Loading …</p>
        ) : null
      ) : value.is === "directory" ? (
        <Directory key={path} sandboxId={sandboxId} path={path} generation={generation} />
      ) : isEdited ? (
        <Editor
          key={path}
          sandboxId={sandboxId}
          path={path}
          leave={view}
          saved={() => {
            view()
            setSaved(path)
            setTurn((before) => before + 1)
          }}
        />
      ) : (
        <FileView key={path} sandboxId={sandboxId} stat={value.stat} generation={generation} />
      )}
    </>
  )
}

export const Files = ({ sandbox }: TabProps) => {
  const isUp = isRunning(sandbox.status)
  // What was shown once stays, and with it what was being written, as long as there is a volume.
  const [wasUp, setWasUp] = useState(isUp)
  useEffect(() => {
    if (isUp) setWasUp(true)
  }, [isUp])
  return (
    <section class="pane" aria-labelledby="files">
      <h2 id="files">Files</h2>
      <NotRunning sandbox={sandbox} to="work with its files" />
      {isUp || (wasUp && !isVolumeless(sandbox.status)) ? (
        <At sandboxId={sandbox.id} generation={sandbox.generation} />
      ) : null}
    </section>
  )
}
