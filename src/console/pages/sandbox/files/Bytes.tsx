const perLine = 16
const shownBytes = 512

const hex = (byte: number): string => byte.toString(16).padStart(2, "0")
const seen = (byte: number): string => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")

const lineOf = (bytes: Uint8Array, at: number): string => {
  const line = [...bytes.subarray(at, at + perLine)]
  return `${at.toString(16).padStart(8, "0")}  ${line
    .map(hex)
    .join(" ")
    .padEnd(perLine * 3 - 1)}  ${line.map(seen).join("")}`
}

/** The first bytes of a binary file, in the format of `xxd`. */
export const Bytes = ({ bytes }: { bytes: Uint8Array }) => {
  const shown = bytes.subarray(0, shownBytes)
  const lines = Array.from({ length: Math.ceil(shown.byteLength / perLine) }, (_, index) =>
    lineOf(shown, index * perLine)
  )
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    // biome-ignore lint/a11y/useSemanticElements: it is no part of a form
    <pre class="file-text" tabIndex={0} role="group" aria-label={`The first ${shown.byteLength} bytes`}>
      {lines.join("\n")}
    </pre>
  )
}
