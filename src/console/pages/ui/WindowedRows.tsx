import type { ComponentChildren } from "preact"
import { useEffect, useRef, useState } from "preact/hooks"

interface Rows<A> {
  readonly label: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<A>
  readonly keyOf: (row: A) => string
  /** One a column. */
  readonly cells: (row: A) => ReadonlyArray<ComponentChildren>
  /** Names the grid's columns in the style sheet. */
  readonly layout: string
}

/** As in console.css. */
const rowHeight = 48
/** Rows beyond each edge, so that a fast scroll shows no gap. */
const beyond = 12

/** A table of which only what is in sight is in the document: thousands of rows scroll like ten. */
export const WindowedRows = <A,>({ label, columns, rows, keyOf, cells, layout }: Rows<A>) => {
  const view = useRef<HTMLElement>(null)
  const [sight, setSight] = useState({ top: 0, height: 800 })
  useEffect(() => {
    const shown = view.current!
    let frame = 0
    const look = () => {
      cancelAnimationFrame(frame)
      frame = requestAnimationFrame(() => setSight({ top: shown.scrollTop, height: shown.clientHeight }))
    }
    look()
    shown.addEventListener("scroll", look, { passive: true })
    const resized = new ResizeObserver(look)
    resized.observe(shown)
    return () => {
      cancelAnimationFrame(frame)
      shown.removeEventListener("scroll", look)
      resized.disconnect()
    }
  }, [])
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
