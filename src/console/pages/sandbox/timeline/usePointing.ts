/** What the pointer does on the lanes: it points, selects a range, and chooses. */
import type { RefObject } from "preact"
import { useRef, useState } from "preact/hooks"
import { foundAt, type Lane, stepAt } from "./layout.ts"
import type { Scale } from "./scale.ts"
import type { Pointed } from "./Told.tsx"
import type { Lanes } from "./useLanes.ts"

/** In pixels: how far beside the line, and how far a press may move until it selects a range. */
const slack = 4

const isSame = (a: Pointed | null, b: Pointed | null): boolean =>
  a === b ||
  (a?.type === "step" && b?.type === "step" && a.step === b.step) ||
  (a?.type === "crowd" && b?.type === "crowd" && a.crowd === b.crowd)

/** @param x From the left end of the line. @param y On the screen. */
const under = (plot: HTMLElement, lanes: ReadonlyArray<Lane>, scale: Scale, x: number, y: number): Pointed | null => {
  if (x < -slack || x > scale.width + slack) return null
  for (const shown of plot.querySelectorAll<HTMLElement>(".tl-line[data-lane]")) {
    const { top, bottom } = shown.getBoundingClientRect()
    if (y < top || y > bottom) continue
    const lane = lanes.find(({ kind }) => kind === shown.dataset["lane"])
    const found = lane === undefined ? null : foundAt(lane, x, y - top)
    if (found === null) return null
    return "thing" in found
      ? { type: "step", thing: found.thing, step: stepAt(found.thing, scale, x) }
      : { type: "crowd", kind: lane!.kind, crowd: found }
  }
  return null
}

interface Drawn {
  readonly plot: RefObject<HTMLDivElement | null>
  readonly line: RefObject<HTMLDivElement | null>
  readonly shown: Lanes
  readonly act: (chosen: Pointed) => void
}

export const usePointing = (pointed: Pointed | null, point: (pointed: Pointed | null) => void, drawn: Drawn) => {
  const { plot, line, act } = drawn
  const { scale, lanes, see } = drawn.shown
  /** The range that the pointer selects: positions on the line. */
  const [brush, setBrush] = useState<readonly [from: number, to: number] | null>(null)
  const pressed = useRef<number | null>(null)
  const placeOf = (event: PointerEvent): number => event.clientX - line.current!.getBoundingClientRect().left
  const underPointer = (event: PointerEvent) => under(plot.current!, lanes, scale, placeOf(event), event.clientY)
  const giveUp = () => {
    pressed.current = null
    setBrush(null)
  }
  const onPointerDown = (event: PointerEvent) => {
    const x = placeOf(event)
    if (event.button !== 0 || x < 0 || x > scale.width) return
    pressed.current = x
    plot.current!.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: PointerEvent) => {
    const start = pressed.current
    const x = Math.max(0, Math.min(scale.width, placeOf(event)))
    if (start !== null && (brush !== null || Math.abs(x - start) > slack)) {
      setBrush([Math.min(start, x), Math.max(start, x)])
      return
    }
    const found = underPointer(event)
    if (!isSame(found, pointed)) point(found)
  }
  const onPointerUp = (event: PointerEvent) => {
    const isPressed = pressed.current !== null
    pressed.current = null
    if (brush !== null) {
      setBrush(null)
      if (brush[1] - brush[0] > slack) see({ from: scale.at(brush[0]), to: scale.at(brush[1]) })
      return
    }
    const found = isPressed ? underPointer(event) : null
    if (found !== null) act(found)
  }
  const onPointerLeave = () => {
    if (!plot.current!.contains(document.activeElement)) point(null)
  }
  return {
    brush,
    giveUp,
    handlers: { onPointerDown, onPointerMove, onPointerUp, onPointerCancel: giveUp, onPointerLeave }
  }
}
