/** A command's output, live. The two streams are separate, because their common order is not recorded. */
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks"
import type { Operation } from "../../../../schemas/Operation.ts"
import { ApiFault } from "../api.ts"
import { size } from "../format.ts"
import { Fault } from "../ui/Fault.tsx"
import { Live } from "../ui/Live.tsx"
import "./operation.css"
import type { Piece } from "./StreamTail.ts"
import { type Known, type ShownStream, useOutput } from "./useOutput.ts"

/** Within this distance from its end, the view stays at the end. */
const atEndPixels = 24

const PieceText = ({ piece }: { piece: Piece }) =>
  useMemo(
    () =>
      piece.runs === null ? (
        <span class="left-out">{`\n… ${size(piece.to - piece.from)} were deleted by the service's retention …\n`}</span>
      ) : (
        piece.runs.map(({ text, look }, index) =>
          look === "" ? (
            text
          ) : (
            <span key={index} class={look}>
              {text}
            </span>
          )
        )
      ),
    [piece]
  )

const Stream = ({ name, stream, isOver }: { name: string; stream: ShownStream; isOver: boolean }) => {
  const view = useRef<HTMLPreElement>(null)
  const isAtEnd = useRef(true)
  const id = useId()
  const { pieces, bytes } = stream
  useLayoutEffect(() => {
    const shown = view.current
    if (shown !== null && isAtEnd.current) shown.scrollTop = shown.scrollHeight
  }, [pieces])
  const from = pieces[0]?.from ?? 0
  return (
    <div class="stream">
      <p class="stream-head">
        <strong id={id}>{name}</strong> <span class="as-of">{size(bytes)}</span>
        {from === 0 ? null : (
          <span class="as-of" data-left-out={from}>
            the last {size(bytes - from)} are shown; the {size(from)} before are left out here
          </span>
        )}
      </p>
      {bytes === 0 ? (
        <p class="soft">{isOver ? "No output." : "No output yet."}</p>
      ) : (
        // biome-ignore lint/a11y/useSemanticElements: it is no part of a form, and no landmark
        <pre
          ref={view}
          class="written"
          data-stream={name}
          data-bytes={bytes}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
          tabIndex={0}
          role="group"
          aria-labelledby={id}
          onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
            isAtEnd.current = scrollHeight - scrollTop - clientHeight < atEndPixels
          }}
        >
          {pieces.map((piece) => (
            <PieceText key={piece.from} piece={piece} />
          ))}
        </pre>
      )}
    </div>
  )
}

interface Shown {
  readonly path: string
  readonly known?: Known
  /** Called once, with the final state. */
  readonly ended: (operation: Operation) => void
}

export const Output = ({ path, known, ended: tell }: Shown) => {
  const { stdout, stderr, feed, at, ended } = useOutput(path, known)
  useEffect(() => {
    if (ended !== null) tell(ended)
  }, [ended])
  const isOver = ended !== null
  return (
    <div class="output" data-output={isOver ? "whole" : "open"}>
      <p class="stream-head">{isOver ? <span class="as-of">Complete.</span> : <Live feed={feed} at={at} />}</p>
      {feed.state === "lost" && feed.fault instanceof ApiFault && feed.fault.status !== null ? (
        <Fault fault={feed.fault} />
      ) : null}
      {feed.state === "refused" ? (
        <p class="empty">The service has no output of this command.</p>
      ) : (
        <>
          <Stream name="stdout" stream={stdout} isOver={isOver} />
          <Stream name="stderr" stream={stderr} isOver={isOver} />
        </>
      )}
    </div>
  )
}
