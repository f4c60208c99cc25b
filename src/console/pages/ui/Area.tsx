import type { ComponentChildren } from "preact"
import { useTexts } from "./Field.tsx"

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
  const { id, described, texts } = useTexts(area.name, hint)
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        spellcheck={false}
        autocomplete="off"
        {...area}
        {...described}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
      />
      {texts}
    </div>
  )
}
