/** A sentence of a doc comment: text in backticks is code. */
export const Prose = ({ text }: { text: string }) => (
  <>{text.split("`").map((part, index) => (index % 2 === 0 ? part : <code key={part}>{part}</code>))}</>
)
