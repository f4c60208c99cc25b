import { useState } from "preact/hooks"
import { upload } from "./uploadQueue.ts"
import { visibleName } from "./visible.ts"

/** Dropped folders look like files, but cannot be read as such. */
const foldersIn = (items: DataTransferItemList): ReadonlySet<string> =>
  new Set(
    [...items].flatMap((item) => {
      const entry = item.webkitGetAsEntry()
      return entry?.isDirectory === true ? [entry.name] : []
    })
  )

/** Uploads files that are dropped on an element with these handlers. */
export const useDroppedFiles = (sandboxId: string, path: string) => {
  const [isOver, setIsOver] = useState(false)
  const [refused, setRefused] = useState<string | null>(null)
  const onDragOver = (event: DragEvent) => {
    if (!event.dataTransfer?.types.includes("Files")) return
    event.preventDefault()
    setIsOver(true)
  }
  const onDragLeave = ({ currentTarget, relatedTarget }: DragEvent) => {
    if (!(currentTarget as Node).contains(relatedTarget as Node | null)) setIsOver(false)
  }
  const onDrop = (event: DragEvent) => {
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
  return { isOver, refused, handlers: { onDragOver, onDragLeave, onDrop } }
}
