/**
 * A machine's diagram to move about in: it opens on the current state at a readable size, and follows it.
 *
 * Three views: one state with its neighbours, made for the width of the screen; all states with the names of events; and everything.
 */
import { useEffect, useId, useMemo, useState } from "preact/hooks"
import type { Lit } from "../../../statechart/lit.ts"
import { neighboursOf } from "../../../statechart/neighbours.ts"
import type { Box, Drawing, Statechart } from "../../../statechart/Statechart.ts"
import { useNarrow } from "../ui/useNarrow.ts"
import { About, type Thing } from "./About.tsx"
import { Arrows, Drawn } from "./Drawn.tsx"
import { MiniMap } from "./MiniMap.tsx"
import { Tools, type ViewName } from "./Tools.tsx"
import { useViewport } from "./useViewport.ts"
import { isWholeShown, opened, type Size } from "./viewport.ts"
import "./statechart.css"

interface Shown {
  readonly chart: Statechart
  /** Null: no actor's life is shown. */
  readonly lit: Lit | null
  /** A new value animates the last edge again. */
  readonly turn?: number
}

/** Neighbours are drawn for a screen of this width, in pixels, before its own is known. */
const narrowWidth = 320

const drawingOf = (chart: Statechart, name: ViewName, middle: string, width: number): Drawing => {
  switch (name) {
    case "neighbours":
      return neighboursOf(chart, middle, Math.min(width, 640))
    case "overview":
      return chart.overview
    case "detail":
      return chart.drawing
  }
}

/** Boxes of the states that the middle one leads to or was reached from, and the labels between. */
const around = ({ states, edges }: Drawing, middle: string, lit: Lit | null): ReadonlyArray<Box> => {
  const isNear = (name: string) => name === lit?.previous || lit?.nextStates.has(name) === true
  return [
    ...states.filter(({ name }) => isNear(name)),
    ...edges
      .filter(({ from, to }) => (from === middle && isNear(to)) || (to === middle && from === lit?.previous))
      .map(({ label }) => label)
  ]
}

/** What is shown of a machine, and how it follows an actor. */
const useDiagram = ({ chart, lit, turn = 0 }: Shown) => {
  const isNarrow = useNarrow()
  const [isFollowing, setFollowing] = useState(true)
  const [chosen, choose] = useState<ViewName | null>(null)
  const name = chosen ?? (isNarrow ? "neighbours" : "overview")
  /** Of the neighbours; null: the current state. */
  const [visited, visit] = useState<string | null>(null)
  const current = lit?.current ?? chart.initial
  const middle = visited ?? current
  const [width, setWidth] = useState(narrowWidth)
  const drawing = useMemo(() => drawingOf(chart, name, middle, width), [chart, name, middle, width])
  const open = (room: Size) => {
    const state = drawing.states.find((one) => one.name === middle)!
    return opened(drawing, state, around(drawing, middle, lit), room)
  }
  const viewport = useViewport(drawing, open)
  const { room, show } = viewport
  useEffect(() => {
    if (room !== null) setWidth(room.width)
  }, [room?.width])
  useEffect(() => show(open), [drawing])
  useEffect(() => {
    if (!isFollowing) return
    visit(null)
    show(open)
  }, [current, turn])
  const home = () => {
    visit(null)
    show(open)
  }
  return { name, choose, drawing, viewport, visit, home, isFollowing, setFollowing }
}

const keysText =
  "Arrow keys move it, plus and minus zoom, 0 shows all of it, Home shows the current state, F fills the screen."

export const StatechartViewer = ({ chart, lit, turn = 0 }: Shown) => {
  const id = useId()
  const [about, setAbout] = useState<Thing | null>(null)
  const [isFull, setFull] = useState(false)
  const { name, choose, drawing, viewport, visit, home, isFollowing, setFollowing } = useDiagram({ chart, lit, turn })
  const { frame, view, room } = viewport
  const isNeighbours = name === "neighbours"
  const key = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "Escape" && isFull) setFull(false)
    else if (event.key === "f") setFull(!isFull)
    else if (isNeighbours || !viewport.key(event.key)) return
    event.preventDefault()
  }
  return (
    <div class={isFull ? "statechart full" : "statechart"} data-view={name}>
      <Tools
        {...{ name, choose, viewport, home, isFollowing, isFull, setFull }}
        follow={lit === null ? null : setFollowing}
      />
      <div class="drawing-frame">
        <section
          class="drawing"
          ref={frame}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: what moves must be reached by the keyboard
          tabIndex={0}
          aria-label={`The drawing of ${chart.kind}. ${keysText}`}
          onKeyDown={key}
          {...(isNeighbours ? { style: { height: `${drawing.height * (view?.scale ?? 1) + 2}px` } } : {})}
        >
          {/* biome-ignore lint/a11y/useSemanticElements: a drawing is no part of a form */}
          <svg role="group" aria-label={`Statechart of ${chart.kind}`}>
            <Arrows id={id} />
            {view === null ? null : (
              <g transform={`translate(${view.x} ${view.y}) scale(${view.scale})`}>
                <Drawn
                  {...{ chart, drawing, lit, turn, id }}
                  level={name === "detail" ? "detail" : "overview"}
                  tell={setAbout}
                  reveal={viewport.reveal}
                  choose={isNeighbours ? visit : null}
                />
              </g>
            )}
          </svg>
        </section>
        {view === null || room === null || isNeighbours || isWholeShown(view, drawing, room) ? null : (
          <MiniMap drawing={drawing} lit={lit} viewport={viewport} />
        )}
      </div>
      {lit === null ? null : (
        <div class="legend">
          <span class="key-current">current state</span>
          <span class="key-taken">taken last</span>
          <span class="key-next">may be next</span>
        </div>
      )}
      <div class="about" id={`${id}-about`}>
        <About chart={chart} thing={about} />
      </div>
    </div>
  )
}
