import { useState } from "preact/hooks"

/** A short text with a copy button beside it. Where the browser refuses (no HTTPS), a click on the text selects it. */
export const CopyShort = ({ text, label }: { text: string; label: string }) => {
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
      <code class="break selectable">{text}</code>
      <button type="button" class="button small" onClick={() => void copy()} aria-label={label}>
        Copy
      </button>
      <span role="status" class="hint">
        {said}
      </span>
    </span>
  )
}
