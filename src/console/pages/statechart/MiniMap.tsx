/** The whole drawing, small, with the part that is shown. A click shows another part. */
import type { Lit } from "../../../statechart/lit.ts"
import type { Drawing } from "../../../statechart/Statechart.ts"
import type { Viewport } from "./useViewport.ts"

export const MiniMap = ({ drawing, lit, viewport }: { drawing: Drawing; lit: Lit | null; viewport: Viewport }) => {
  const { view, room, centre } = viewport
  if (view === null || room === null) return null
  const { x, y, scale } = view
  const go = (event: PointerEvent) => {
    const map = event.currentTarget as SVGSVGElement
    const by = map.getScreenCTM()
    if (event.buttons !== 1 || by === null) return
    event.stopPropagation()
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(by.inverse())
    centre(at)
  }
  return (
    // By keys, the drawing itself moves.
    <svg
      class="minimap"
      viewBox={`0 0 ${drawing.width} ${drawing.height}`}
      aria-hidden="true"
      onPointerDown={go}
      onPointerMove={go}
    >
      {drawing.states.map(({ name, x, y, width, height }) => (
        <rect
          key={name}
          class={name === lit?.current ? "mini-current" : "mini-state"}
          x={x}
          y={y}
          width={width}
          height={height}
          rx={9}
        />
      ))}
      <rect class="mini-view" x={-x / scale} y={-y / scale} width={room.width / scale} height={room.height / scale} />
    </svg>
  )
}
