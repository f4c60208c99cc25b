/** What can be made in a folder: files, folders, uploads. */
import { useRef } from "preact/hooks"
import { upload } from "./uploadQueue.ts"

interface Shown {
  readonly sandboxId: string
  readonly path: string
  readonly make: (what: "file" | "folder") => void
}

export const FileTools = ({ sandboxId, path, make }: Shown) => {
  const chosen = useRef<HTMLInputElement>(null)
  return (
    <div class="file-tools">
      <button type="button" class="button" onClick={() => make("file")}>
        New file
      </button>
      <button type="button" class="button" onClick={() => make("folder")}>
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
  )
}
