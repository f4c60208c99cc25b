import type { ComponentChildren } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"

/** For a list that grows at the end and shrinks at the top. */
export interface Tail {
  /** A new number scrolls to the end. */
  readonly turn: number
  readonly told: (isAtEnd: boolean) => void
}

interface Rows<A> {
  readonly label: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<A>
  readonly keyOf: (row: A) => string
  /** One for each column. */
  readonly cells: (row: A) => ReadonlyArray<ComponentChildren>
  /** Names the grid's columns in the style sheet. */
  readonly layout: string
  /** In pixels, as in the style sheet. */
  readonly rowHeight?: number
  /** A view at the end stays at the end; otherwise the visible row stays in place when rows above it come or go. */
  readonly tail?: Tail
}

/** As in console.css. */
const plainRowHeight = 48
/** Extra rows beyond each edge, so that fast scrolling shows no gap. */
const beyond = 12

/** A virtualized table: only visible rows are in the document, so thousands of rows scroll like ten. */
export const WindowedRows = <A,>({
  label,
  columns,
  rows,
  keyOf,
  cells,
  layout,
  rowHeight = plainRowHeight,
  tail
}: Rows<A>) => {
  const view = useRef<HTMLElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 800 })
  const now = useRef({ rows, keyOf, tail })
  now.current = { rows, keyOf, tail }
  /** The top visible row, and how much of it is above the view; null: the view is at the end. */
  const held = useRef<{ readonly key: string; readonly above: number } | null>(null)
  useEffect(() => {
    const shown = view.current!
    let frame = 0
    const hold = () => {
      const { rows, keyOf, tail } = now.current
      if (tail === undefined) return
      const isAtEnd = shown.scrollTop + shown.clientHeight >= shown.scrollHeight - rowHeight
      const top = Math.floor(shown.scrollTop / rowHeight)
      const row = rows[top]
      held.current = isAtEnd || row === undefined ? null : { key: keyOf(row), above: shown.scrollTop - top * rowHeight }
      tail.told(held.current === null)
    }
    const look = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => setSight({ top: shown.scrollTop, height: shown.clientHeight }))
    }
    const scrolled = () => {
      hold()
      look()
    }
    look()
    shown.addEventListener("scroll", scrolled, { passive: true })
    const resized = new ResizeObserver(look)
    resized.observe(shown)
    return () => {
      cancelAnimationFrame(frame)
      shown.removeEventListener("scroll", scrolled)
      resized.disconnect()
    }
  }, [rowHeight])
  useLayoutEffect(() => {
    const shown = view.current!
    if (tail === undefined) return
    if (held.current === null) {
      shown.scrollTop = shown.scrollHeight
      return
    }
    const { key, above } = held.current
    const at = rows.findIndex((row) => keyOf(row) === key)
    shown.scrollTop = at === -1 ? 0 : at * rowHeight + above
  }, [rows])
  useLayoutEffect(() => {
    if (tail !== undefined) view.current!.scrollTop = view.current!.scrollHeight
  }, [tail?.turn])
  const first = Math.max(0, Math.floor(sight.top / rowHeight) - beyond)
  const inSight = rows.slice(first, first + Math.ceil(sight.height / rowHeight) + 2 * beyond)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard
    <section class="windowed" ref={view} tabIndex={0} aria-label={label}>
      <div role="table" aria-label={label} aria-rowcount={rows.length + 1} class={layout}>
        <div role="rowgroup" class="windowed-head">
          <div role="row" aria-rowindex={1} class="row">
            {columns.map((column) => (
              <span key={column} role="columnheader">
                {column}
              </span>
            ))}
          </div>
        </div>
        <div role="rowgroup" class="windowed-body" style={{ height: `${rows.length * rowHeight}px` }}>
          {inSight.map((row, index) => (
            <div
              key={keyOf(row)}
              role="row"
              aria-rowindex={first + index + 2}
              class="row"
              style={{ transform: `translateY(${(first + index) * rowHeight}px)` }}
            >
              {cells(row).map((cell, column) => (
                <span key={columns[column]} role="cell">
                  {cell}
                </span>
              ))}
            </div>
          ))}
        </div>
      </div>
    </section>
  )
}
