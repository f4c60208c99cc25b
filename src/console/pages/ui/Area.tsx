import type { ComponentChildren } from "preact"
import { useId } from "preact/hooks"

interface Lines {
  readonly label: string
  readonly name: string
  readonly rows: number
  readonly hint?: ComponentChildren
  readonly placeholder?: string
  readonly defaultValue?: string
  readonly required?: boolean
}

/** A multi-line field. Ctrl+Enter (on a Mac: Command+Enter) submits its form. */
export const Area = ({ label, hint, ...area }: Lines) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        spellcheck={false}
        autocomplete="off"
        {...area}
        {...(hint === undefined ? {} : { "aria-describedby": `${id}-hint` })}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
      />
      {hint === undefined ? null : (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}
