/** Which part of a drawing is shown, and how large. Pure. */
import type { Box, Point } from "../../../statechart/Statechart.ts"

/** A point of the drawing is shown at `scale` times itself, plus (x, y), in pixels from the upper left corner of what shows it. */
export interface View extends Point {
  readonly scale: number
}

export type Size = Pick<Box, "width" | "height">

/** Rows of text are 12 pixels high at scale 1: an opened drawing is not smaller. */
export const readableScale = 1
const openedMaxScale = 1.4
export const minScale = 0.125
export const maxScale = 4

/** How far the drawing's border may be inside of what shows it, in pixels. */
const slack = 32

export const clampScale = (scale: number): number => Math.min(maxScale, Math.max(minScale, scale))

const boundedAxis = (at: number, length: number, room: number): number =>
  length <= room ? (room - length) / 2 : Math.min(slack, Math.max(room - length - slack, at))

/** A drawing that fits is in the middle; a larger one fills what shows it. */
export const bounded = ({ x, y, scale }: View, drawing: Size, room: Size): View => ({
  x: boundedAxis(x, scale * drawing.width, room.width),
  y: boundedAxis(y, scale * drawing.height, room.height),
  scale
})

export const centred = (box: Box, scale: number, room: Size): View => ({
  x: room.width / 2 - scale * (box.x + box.width / 2),
  y: room.height / 2 - scale * (box.y + box.height / 2),
  scale
})

/** The scale at which all of it is shown. */
export const fitScale = ({ width, height }: Size, room: Size): number =>
  Math.min(room.width / width, room.height / height)

/** All of the drawing. */
export const fitted = (drawing: Size, room: Size): View => {
  const scale = clampScale(Math.min(openedMaxScale, fitScale(drawing, room)))
  return bounded({ x: 0, y: 0, scale }, drawing, room)
}

/** The point of the drawing that is at `at`, in pixels, stays there. */
export const zoomed = ({ x, y, scale }: View, factor: number, at: Point): View => {
  const next = clampScale(scale * factor)
  const by = next / scale
  return { x: at.x - by * (at.x - x), y: at.y - by * (at.y - y), scale: next }
}

/** Moves as little as shows all of a box, or its upper left corner if it is larger. */
export const revealed = (view: View, box: Box, room: Size): View => {
  const axis = (at: number, from: number, length: number, size: number): number => {
    const start = at + view.scale * from
    const end = start + view.scale * length
    if (start < slack / 2) return at + slack / 2 - start
    if (end > size - slack / 2) return at + Math.max(slack / 2 - start, size - slack / 2 - end)
    return at
  }
  return {
    x: axis(view.x, box.x, box.width, room.width),
    y: axis(view.y, box.y, box.height, room.height),
    scale: view.scale
  }
}

export const isWholeShown = ({ scale }: View, drawing: Size, room: Size): boolean =>
  scale * drawing.width <= room.width + 1 && scale * drawing.height <= room.height + 1

const unionOf = (boxes: ReadonlyArray<Box>): Box => {
  const x = Math.min(...boxes.map((box) => box.x))
  const y = Math.min(...boxes.map((box) => box.y))
  return {
    x,
    y,
    width: Math.max(...boxes.map((box) => box.x + box.width)) - x,
    height: Math.max(...boxes.map((box) => box.y + box.height)) - y
  }
}

/**
 * How a drawing opens, never smaller than readable: all of it if it fits; otherwise the state with its neighbours, or as much of them as fits
 * around the state.
 *
 * @param neighbours Boxes of the neighbouring states and of the labels between.
 */
export const opened = (drawing: Size, state: Box, neighbours: ReadonlyArray<Box>, room: Size): View => {
  if (fitScale(drawing, room) >= readableScale) return fitted(drawing, room)
  const around = unionOf([state, ...neighbours])
  const scale = Math.min(openedMaxScale, Math.max(readableScale, fitScale(around, room)))
  const isAround = fitScale(around, room) >= readableScale
  return bounded(revealed(centred(isAround ? around : state, scale, room), state, room), drawing, room)
}
