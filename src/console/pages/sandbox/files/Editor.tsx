/** Edits the text of a file. A concurrent change by others is never overwritten without a confirmation. */
import { useRef, useState } from "preact/hooks"
import { useLoad } from "../../load.ts"
import { useAction } from "../../ui/Action.tsx"
import { Fault } from "../../ui/Fault.tsx"
import { nameOf } from "./address.ts"
import { type Draft, draftOf, keepDraft } from "./drafts.ts"
import { asLines, withEnds } from "./edit.ts"
import { guardedWrite, readBase, type Written } from "./guardedWrite.ts"
import { visibleName } from "./visible.ts"
import { putText } from "./write.ts"

interface Edited {
  readonly sandboxId: string
  readonly path: string
  readonly saved: () => void
  readonly leave: () => void
}

const said: Readonly<Record<Exclude<Written, "written">, string>> = {
  changed: "This file has changed since you opened it. Nothing was written, and your text is still here.",
  gone: "This file was deleted since you opened it. Nothing was written, and your text is still here."
}

interface Field extends Edited {
  readonly draft: Draft
  readonly isKept: boolean
  readonly reload: () => void
}

const EditedText = ({ sandboxId, path, saved, leave, draft, isKept, reload }: Field) => {
  const { base } = draft
  const lines = useRef(draft.lines)
  const [conflict, setConflict] = useState<Exclude<Written, "written"> | null>(null)
  const keep = (text: string) => {
    lines.current = text
    keepDraft(sandboxId, path, text === asLines(base.text) ? null : { base, lines: text })
  }
  const forget = () => keepDraft(sandboxId, path, null)
  const done = () => {
    forget()
    saved()
  }
  const save = useAction(async () => {
    const outcome = await guardedWrite(sandboxId, path, base, withEnds(lines.current, base.ends))
    if (outcome === "written") done()
    else setConflict(outcome)
  })
  const overwrite = useAction(async () => {
    await putText(sandboxId, path, withEnds(lines.current, base.ends))
    done()
  })
  return (
    <div class="editor">
      {isKept ? (
        <p class="said" role="status">
          These are your unsaved changes.
        </p>
      ) : null}
      <textarea
        aria-label={`The text of ${visibleName(nameOf(path))}`}
        defaultValue={draft.lines}
        spellcheck={false}
        rows={24}
        onInput={({ currentTarget }) => keep(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "s" || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          void save.run()
        }}
      />
      {conflict === null ? null : (
        <div class="notice conflict" role="alert">
          <p>{said[conflict]}</p>
          <div class="buttons">
            {conflict === "changed" ? (
              <button
                type="button"
                class="button"
                onClick={() => {
                  forget()
                  reload()
                }}
              >
                Discard my changes
              </button>
            ) : null}
            <button
              type="button"
              class="button danger"
              onClick={() => void overwrite.run()}
              aria-disabled={overwrite.isBusy}
            >
              {conflict === "changed" ? "Overwrite the file" : "Create it again"}
            </button>
          </div>
        </div>
      )}
      <Fault fault={save.fault ?? overwrite.fault} />
      <div class="buttons">
        <button type="button" class="button primary" onClick={() => void save.run()} aria-disabled={save.isBusy}>
          {save.isBusy ? "Saving …" : "Save"}
        </button>
        <button
          type="button"
          class="button"
          onClick={() => {
            forget()
            leave()
          }}
        >
          Cancel
        </button>
        {base.ends === "CR LF" ? <span class="hint">Its lines end with CR LF, which is kept.</span> : null}
      </div>
    </div>
  )
}

export const Editor = (edited: Edited) => {
  const { sandboxId, path } = edited
  const [turn, setTurn] = useState(0)
  const loaded = useLoad(`${sandboxId} ${turn} ${path}`, async (signal) => {
    const kept = draftOf(sandboxId, path)
    if (kept !== null) return { draft: kept, isKept: true }
    const base = await readBase(sandboxId, path, signal)
    return { draft: { base, lines: asLines(base.text) }, isKept: false }
  })
  if (loaded.value !== null) {
    return <EditedText key={turn} {...edited} {...loaded.value} reload={() => setTurn((before) => before + 1)} />
  }
  return loaded.fault === null ? (
    <p class="waiting">Loading …</p>
  ) : (
    <>
      <Fault fault={loaded.fault} retry={loaded.reload} />
      <div class="buttons">
        <button type="button" class="button" onClick={edited.leave}>
          Back
        </button>
      </div>
    </>
  )
}
