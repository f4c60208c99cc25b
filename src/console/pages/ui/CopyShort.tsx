import { useState } from "preact/hooks"

/** A short text with a copy button beside it. Where the browser refuses (no HTTPS), a click on the text selects it. */
interface Shown {
  readonly text: string
  readonly label: string
  /** False: the text stands elsewhere. */
  readonly isShown?: boolean
}

export const CopyShort = ({ text, label, isShown = true }: Shown) => {
  const [said, setSaid] = useState("")
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid("Copied.")
    } catch {
      setSaid("Copy it by hand.")
    }
  }
  return (
    <span class="copy-short">
      {isShown ? <code class="break selectable">{text}</code> : null}
      <button type="button" class="button small" onClick={() => void copy()} aria-label={label}>
        Copy
      </button>
      <span role="status" class="hint">
        {said}
      </span>
    </span>
  )
}
