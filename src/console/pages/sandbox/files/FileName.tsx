import { piecesOf } from "./visible.ts"

/** A name as it is told apart from every other, whatever it holds; it turns no text around it. */
export const FileName = ({ name }: { name: string }) => (
  <bdi class="file-name" dir="ltr">
    {piecesOf(name).map(({ text, isWrittenOut }, index) =>
      isWrittenOut ? (
        <span key={index} class="written-out">
          {text}
        </span>
      ) : (
        text
      )
    )}
  </bdi>
)
