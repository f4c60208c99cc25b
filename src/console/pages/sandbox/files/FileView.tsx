/** One file: its facts, its content if it can be shown, and its actions. */
import { useMemo, useState } from "preact/hooks"
import type { FileStatResponse } from "../../../../../schemas/Files.ts"
import { count, size } from "../../format.ts"
import { navigate } from "../../router.ts"
import { useAction } from "../../ui/Action.tsx"
import { Fault } from "../../ui/Fault.tsx"
import { Instant } from "../../ui/Instant.tsx"
import { addressOf, folderOf, nameOf } from "./address.ts"
import { Bytes } from "./Bytes.tsx"
import { RemoveDialog, RenameDialog } from "./dialogs.tsx"
import { kindNames } from "./FileKind.tsx"
import { editMaxBytes } from "./guardedWrite.ts"
import { PictureView, pictureMaxBytes } from "./PictureView.tsx"
import { type Content, type LoadedContent, useContent } from "./useContent.ts"
import { visibleName, visibleText } from "./visible.ts"
import { download } from "./write.ts"

const Text = ({ pieces, name }: { pieces: ReadonlyArray<string>; name: string }) => {
  const shown = useMemo(() => pieces.map(visibleText), [pieces])
  return (
    <>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard */}
      {/* biome-ignore lint/a11y/useSemanticElements: it is no part of a form */}
      <pre class="file-text" tabIndex={0} role="group" aria-label={`The text of ${visibleName(name)}`} dir="ltr">
        {shown.map((piece) => piece.shown)}
      </pre>
      {shown.some(({ changed }) => changed) ? (
        <p class="hint">
          Invisible characters, and characters that would change the text's direction, are written out.
        </p>
      ) : null}
    </>
  )
}

const ends: Readonly<Record<"no text" | "bound", string>> = {
  "no text": "The rest is not text.",
  bound: "The rest is not shown here."
}

const Rest = ({ content: { until, sizeBytes, end }, loaded }: { content: Content; loaded: LoadedContent }) =>
  end === "end of file" ? null : (
    <div class="file-rest">
      <p class="hint" role="status">
        {size(until)} of {size(sizeBytes)} are shown. {end === null ? "" : `${ends[end]} Download the complete file.`}
      </p>
      <Fault fault={loaded.moreFault} retry={loaded.reload} />
      {end === null ? (
        <button type="button" class="button" onClick={loaded.more} aria-disabled={loaded.isLoadingMore}>
          {loaded.isLoadingMore ? "Loading …" : "Show more"}
        </button>
      ) : null}
    </div>
  )

interface Shown {
  readonly sandboxId: string
  readonly stat: FileStatResponse
  readonly generation: number
}

const Shape = ({ sandboxId, stat, loaded }: Shown & { loaded: LoadedContent }) => {
  const { content } = loaded
  const name = nameOf(stat.path)
  if (content === null) return loaded.fault === null ? <p class="waiting">Loading …</p> : null
  if (content.sizeBytes === 0) return <p class="empty">This file is empty.</p>
  if (content.text !== null) {
    return (
      <>
        <Text pieces={content.pieces} name={name} />
        <Rest content={content} loaded={loaded} />
      </>
    )
  }
  if (content.picture !== null && content.sizeBytes <= pictureMaxBytes) {
    return <PictureView sandboxId={sandboxId} path={stat.path} name={name} picture={content.picture} />
  }
  return (
    <>
      <p class="notice">
        This is not text, but {count(content.sizeBytes)} {content.sizeBytes === 1 ? "byte" : "bytes"} of binary data.
        {content.picture === null ? "" : " It looks like a picture, and is too large to be shown here."} Download it to
        open it with a program of yours.
      </p>
      <Bytes bytes={content.range.bytes} />
    </>
  )
}

export const FileView = ({ sandboxId, stat, generation }: Shown) => {
  const { path, type, mode, modifiedAt } = stat
  const [asks, setAsks] = useState<"rename" | "remove" | null>(null)
  const loaded = useContent(sandboxId, path, generation)
  const downloading = useAction(() => download(sandboxId, path))
  const { content } = loaded
  const close = () => setAsks(null)
  const goTo = (to: string) => navigate(addressOf(sandboxId, { path: to, isEdited: false }), "replace")
  const canEdit = content !== null && content.text !== null && content.sizeBytes <= editMaxBytes
  return (
    <>
      <div class="file-tools">
        {canEdit ? (
          <button
            type="button"
            class="button primary"
            onClick={() => navigate(addressOf(sandboxId, { path, isEdited: true }))}
          >
            Edit
          </button>
        ) : null}
        {content === null ? null : (
          <button
            type="button"
            class="button"
            onClick={() => void downloading.run()}
            aria-disabled={downloading.isBusy}
          >
            Download
          </button>
        )}
        <button type="button" class="button" onClick={() => setAsks("rename")}>
          Rename
        </button>
        <button type="button" class="button" onClick={() => setAsks("remove")}>
          Remove
        </button>
        <button type="button" class="button small" onClick={loaded.reload} aria-label="Refresh: the file">
          Refresh
        </button>
        <span class="hint">
          {kindNames[type]}
          {content === null ? "" : `, ${size(content.sizeBytes)}`}, mode {mode}, changed <Instant at={modifiedAt} />
        </span>
      </div>
      <Fault fault={downloading.fault} />
      <Fault fault={loaded.fault} retry={loaded.reload} />
      <Shape sandboxId={sandboxId} stat={stat} generation={generation} loaded={loaded} />
      {asks === "rename" ? (
        <RenameDialog
          sandboxId={sandboxId}
          path={path}
          close={close}
          done={(to) => {
            close()
            goTo(to)
          }}
        />
      ) : asks === "remove" ? (
        <RemoveDialog sandboxId={sandboxId} path={path} type={type} close={close} done={() => goTo(folderOf(path))} />
      ) : null}
    </>
  )
}
