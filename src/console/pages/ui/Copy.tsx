import { useState } from "preact/hooks"

/** A text with a copy button. Without HTTPS browsers refuse to copy; the text can still be selected by hand. */
export const Copy = ({ text, label }: { text: string; label: string }) => {
  const [said, setSaid] = useState<"copied" | "refused" | null>(null)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      setSaid("copied")
    } catch {
      setSaid("refused")
    }
  }
  return (
    <div class="copy">
      <code class="secret">{text}</code>
      <button type="button" class="button" onClick={() => void copy()}>
        {label}
      </button>
      <span role="status" class="hint">
        {said === "copied"
          ? "Copied."
          : said === "refused"
            ? "The browser does not let this page copy: select the text and copy it by hand."
            : ""}
      </span>
    </div>
  )
}
