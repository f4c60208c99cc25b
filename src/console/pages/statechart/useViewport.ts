/** Pan and zoom of a drawing: by pointer, by two fingers, by wheel and by keys. */
import type { RefObject } from "preact"
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks"
import type { Box, Point } from "../../../statechart/Statechart.ts"
import { bounded, fitted, revealed, type Size, type View, zoomed } from "./viewport.ts"

/** One press of a key or a button. */
const zoomStep = 1.25
const panStep = 80

/** A pointer that moved less is a click. In pixels. */
const dragMin = 4

export interface Viewport {
  readonly frame: RefObject<HTMLElement | null>
  /** Null until the size of the frame is known. */
  readonly view: View | null
  readonly room: Size | null
  readonly zoom: (factor: number) => void
  readonly fit: () => void
  readonly reveal: (box: Box) => void
  /** In the middle is this point of the drawing. */
  readonly centre: (at: Point) => void
  readonly show: (open: (room: Size) => View) => void
  /** True: the key moved the view. */
  readonly key: (name: string) => boolean
}

/** Listens to the pointers on an element, and answers with the way to stop it. */
const dragged = (element: HTMLElement, change: (change: (view: View) => View) => void): (() => void) => {
  const pointers = new Map<number, Point>()
  let isDragging = false
  const at = ({ clientX, clientY }: { clientX: number; clientY: number }): Point => {
    const { left, top } = element.getBoundingClientRect()
    return { x: clientX - left, y: clientY - top }
  }
  const down = (event: PointerEvent) => {
    if (event.button !== 0) return
    pointers.set(event.pointerId, at(event))
    isDragging = pointers.size > 1
  }
  const move = (event: PointerEvent) => {
    const before = pointers.get(event.pointerId)
    if (before === undefined) return
    const now = at(event)
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1]
    if (!isDragging && Math.hypot(now.x - before.x, now.y - before.y) < dragMin) return
    if (!isDragging) {
      isDragging = true
      element.setPointerCapture(event.pointerId)
    }
    pointers.set(event.pointerId, now)
    if (other === undefined) {
      change((view) => ({ ...view, x: view.x + now.x - before.x, y: view.y + now.y - before.y }))
      return
    }
    const lengthTo = (point: Point) => Math.max(1, Math.hypot(point.x - other.x, point.y - other.y))
    const middle = { x: (now.x + other.x) / 2, y: (now.y + other.y) / 2 }
    change((view) => zoomed(view, lengthTo(now) / lengthTo(before), middle))
  }
  const up = (event: PointerEvent) => {
    pointers.delete(event.pointerId)
    isDragging = pointers.size > 0 && isDragging
  }
  /** A wheel scrolls the page until somebody works with the drawing, or holds Ctrl, as a trackpad's pinch does. */
  const wheel = (event: WheelEvent) => {
    if (!event.ctrlKey && !event.metaKey && !element.contains(document.activeElement)) return
    event.preventDefault()
    const pixels = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 * event.deltaY : event.deltaY
    change((view) => zoomed(view, Math.exp(-Math.max(-120, Math.min(120, pixels)) / 400), at(event)))
  }
  const listeners = [
    ["pointerdown", down],
    ["pointermove", move],
    ["pointerup", up],
    ["pointercancel", up]
  ] as const
  for (const [name, listener] of listeners) element.addEventListener(name, listener)
  element.addEventListener("wheel", wheel, { passive: false })
  return () => {
    for (const [name, listener] of listeners) element.removeEventListener(name, listener)
    element.removeEventListener("wheel", wheel)
  }
}

const sizeOf = ({ clientWidth, clientHeight }: HTMLElement): Size => ({ width: clientWidth, height: clientHeight })

/** @param open How the drawing opens, and how it is shown when what shows it changes its size. */
export const useViewport = (drawing: Size, open: (room: Size) => View): Viewport => {
  const frame = useRef<HTMLElement>(null)
  const [room, setRoom] = useState<Size | null>(null)
  const [view, setView] = useState<View | null>(null)
  const now = useRef({ drawing, open })
  now.current = { drawing, open }
  const show = (opening: (room: Size) => View) => {
    const element = frame.current
    if (element !== null) setView(opening(sizeOf(element)))
  }
  const change = (to: (view: View, room: Size) => View) =>
    setView((before) => {
      const size = sizeOf(frame.current!)
      return before === null ? null : bounded(to(before, size), now.current.drawing, size)
    })
  useEffect(() => dragged(frame.current!, change), [])
  useLayoutEffect(() => {
    const element = frame.current!
    const look = () => {
      setRoom(sizeOf(element))
      show(now.current.open)
    }
    look()
    const resized = new ResizeObserver(look)
    resized.observe(element)
    return () => resized.disconnect()
  }, [])
  const middle = ({ width, height }: Size): Point => ({ x: width / 2, y: height / 2 })
  const zoom = (factor: number) => change((view, size) => zoomed(view, factor, middle(size)))
  const pan = (x: number, y: number) => change((view) => ({ ...view, x: view.x + x, y: view.y + y }))
  const fit = () => show((size) => fitted(now.current.drawing, size))
  const keys: Readonly<Record<string, () => void>> = {
    ArrowLeft: () => pan(panStep, 0),
    ArrowRight: () => pan(-panStep, 0),
    ArrowUp: () => pan(0, panStep),
    ArrowDown: () => pan(0, -panStep),
    "+": () => zoom(zoomStep),
    "=": () => zoom(zoomStep),
    "-": () => zoom(1 / zoomStep),
    "0": fit,
    Home: () => show(now.current.open)
  }
  return {
    frame,
    view,
    room,
    zoom,
    fit,
    show,
    reveal: (box) => change((view, size) => revealed(view, box, size)),
    centre: ({ x, y }) =>
      change(({ scale }, size) => ({ x: size.width / 2 - scale * x, y: size.height / 2 - scale * y, scale })),
    key: (name) => {
      keys[name]?.()
      return Object.hasOwn(keys, name)
    }
  }
}
