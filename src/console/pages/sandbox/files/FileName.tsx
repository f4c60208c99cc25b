import { piecesOf } from "./visible.ts"

/** A file name that is distinguishable from every other, with any content, and does not change the direction of text around it. */
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
