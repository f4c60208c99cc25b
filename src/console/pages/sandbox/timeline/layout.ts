/**
 * The layout of a lane: resources in as few rows as possible, states as bars, transitions as ticks. Items that are too small to see or to
 * point at are merged with their neighbours, so the drawing depends on the available space, not on the number of events.
 */
import type { Scale } from "./scale.ts"
import { type LaneKind, lastOf, type Step, type Thing } from "./things.ts"
import { isEnd, type Tone, toneOf } from "./tones.ts"

/** Pixels. */
export const rowHeight = 20
export const rowGap = 4
const tick = 4
const leastBar = 5
/** Minimum width of a resource whose states are drawn one by one. */
const leastLife = 14
const leastState = 3
const leastLine = 1.5
const letter = 6.3
/** A crowd covers at most this length of the line, so that each can be selected and zoomed. */
const crowdWidth = 64
const between = 1

export const rowsMax: Readonly<Record<LaneKind, number>> = {
  sandbox: 1,
  operation: 6,
  preview: 3,
  serviceAccess: 3,
  connectionGrant: 3,
  snapshot: 3
}

/** Whether a text fits into a bar. */
export const fits = (text: string, width: number): boolean => width >= text.length * letter + 10

export interface Name {
  readonly x: number
  readonly row: number
  readonly text: string
  readonly tone: Tone
}

export interface Placed {
  readonly thing: Thing
  readonly x: number
  readonly width: number
}

/** Adjacent resources that fit into no row. */
export interface Crowd {
  readonly x: number
  readonly width: number
  readonly things: ReadonlyArray<Thing>
}

export interface Lane {
  readonly kind: LaneKind
  /** The resources in this range. */
  readonly things: ReadonlyArray<Thing>
  /** One more if there are crowds. */
  readonly rows: number
  /** SVG paths. `many`: several states that are too short to be drawn separately. */
  readonly bars: ReadonlyMap<Tone | "many", string>
  readonly ticks: string
  readonly names: ReadonlyArray<Name>
  /** By row, sorted by place. */
  readonly placed: ReadonlyArray<ReadonlyArray<Placed>>
  readonly crowds: ReadonlyArray<Crowd>
}

export const heightOf = ({ rows }: Pick<Lane, "rows">): number => rows * (rowHeight + rowGap) + rowGap

export const topOf = (row: number): number => row * (rowHeight + rowGap) + rowGap

const rounded = (value: number): number => Math.round(value * 10) / 10

class Pen {
  readonly bars = new Map<Tone | "many", Array<string>>()
  readonly ticks: Array<string> = []
  readonly names: Array<Name> = []

  bar(tone: Tone | "many", row: number, x: number, width: number): void {
    const path = this.bars.get(tone) ?? []
    this.bars.set(tone, path)
    path.push(`M${rounded(x)} ${topOf(row)}h${rounded(width)}v${rowHeight}h${rounded(-width)}z`)
  }

  tick(row: number, x: number): void {
    this.ticks.push(`M${x + 0.5} ${topOf(row) - tick / 2}v${rowHeight + tick}`)
  }

  name(text: string, tone: Tone, row: number, x: number, width: number): void {
    if (fits(text, width)) this.names.push({ x: x + 5, row, text, tone })
  }
}

/** The start and end of a resource in a range that ends at `now` or earlier. */
const extentOf = (thing: Thing, now: number): readonly [from: number, to: number] => {
  const last = lastOf(thing)
  return [thing.steps[0]!.at, isEnd(thing.kind, last.to) ? last.at : Math.max(now, last.at)]
}

/** The index of the last step up to an instant; 0 if all are later. */
export const stepBefore = (steps: ReadonlyArray<Step>, at: number): number => {
  let low = 0
  let high = steps.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (steps[middle]!.at <= at) low = middle
    else high = middle - 1
  }
  return low
}

const drawLife = (pen: Pen, { thing, x, width }: Placed, row: number, scale: Scale): void => {
  const { steps, kind } = thing
  const end = x + width
  let tickAt = Number.NEGATIVE_INFINITY
  /** States too short to be drawn separately: their start, their number, and the tone of the first. */
  let shortFrom = x
  let shorts = 0
  let shortTone: Tone = "calm"
  // Ticks that would touch are merged.
  const tick = (at: number) => {
    if (Math.round(at) - tickAt <= 2 || at < 0 || at > scale.width) return
    tickAt = Math.round(at)
    pen.tick(row, tickAt)
  }
  const flush = (to: number) => {
    if (shorts === 1) pen.bar(shortTone, row, shortFrom, Math.max(to - shortFrom, leastLine))
    if (shorts > 1) {
      pen.bar("many", row, shortFrom, Math.max(to - shortFrom, leastLine))
      pen.name(`${shorts} states`, "calm", row, shortFrom, to - shortFrom)
    }
    shorts = 0
  }
  for (let index = stepBefore(steps, scale.from); index < steps.length; index++) {
    const step = steps[index]!
    if (step.at > scale.to) break
    const at = scale.x(step.at)
    // An unchanged state is one bar, however many steps it has.
    if (index > 0 && step.from === step.to && at > x) {
      if (shorts === 0) tick(at)
      continue
    }
    let next = index + 1
    while (next < steps.length && steps[next]!.from === steps[next]!.to && steps[next]!.at <= scale.to) next++
    const left = Math.max(x, at)
    const over = isEnd(kind, step.to)
    const right = next < steps.length ? Math.min(end, scale.x(steps[next]!.at)) : end
    const tone = toneOf(step.to)
    if (right - left >= leastState) {
      flush(left)
      tick(at)
      pen.bar(tone, row, left, right - left)
      pen.name(step.to, tone, row, left, right - left)
    } else {
      if (over && next === steps.length) {
        // An end has no duration, but is still drawn.
        flush(left)
        tick(at)
        pen.bar(tone, row, Math.max(x, end - leastState), leastState)
        break
      }
      if (shorts === 0) {
        shortFrom = left
        tick(at)
      }
      shortTone = tone
      shorts++
    }
  }
  flush(end)
}

/** @param now The end of open resources, epoch milliseconds. */
export const laneOf = (kind: LaneKind, all: ReadonlyArray<Thing>, scale: Scale, now: number): Lane => {
  const pen = new Pen()
  const rows: Array<Array<Placed>> = []
  const crowds: Array<{ x: number; width: number; things: Array<Thing> }> = []
  const things: Array<Thing> = []
  for (const thing of all) {
    const [from, to] = extentOf(thing, now)
    if (to < scale.from || from > scale.to || thing.steps.length === 0) continue
    things.push(thing)
    const start = Math.max(0, scale.x(from))
    const x = Math.min(start, scale.width - leastBar)
    const width = Math.max(leastBar, Math.min(scale.width, scale.x(to)) - x)
    const placed = { thing, x, width }
    let row = rows.findIndex((taken) => {
      const last = taken[taken.length - 1]!
      return last.x + last.width + between <= x
    })
    if (row === -1 && rows.length < rowsMax[kind]) row = rows.push([]) - 1
    if (row === -1) {
      const last = crowds[crowds.length - 1]
      const begin = Math.floor(x / crowdWidth) * crowdWidth
      const end = Math.min(x + width, begin + crowdWidth - between)
      if (last !== undefined && last.x >= begin) {
        last.things.push(thing)
        last.width = Math.max(last.width, end - last.x)
      } else crowds.push({ x, width: Math.max(leastBar, end - x), things: [thing] })
      continue
    }
    rows[row]!.push(placed)
    if (width < leastLife) pen.bar(toneOf(lastOf(thing).to), row, x, width)
    else drawLife(pen, placed, row, scale)
  }
  return {
    kind,
    things,
    rows: rows.length + (crowds.length > 0 ? 1 : 0),
    bars: new Map([...pen.bars].map(([tone, path]) => [tone, path.join("")])),
    ticks: pen.ticks.join(""),
    names: pen.names,
    placed: rows,
    crowds
  }
}

/** The item at a position of a lane; `y` from its upper edge. Close resources count if there is none exactly there. */
export const foundAt = ({ placed, crowds }: Lane, x: number, y: number): Placed | Crowd | null => {
  const row = Math.max(0, Math.floor((y - rowGap / 2) / (rowHeight + rowGap)))
  const near = 4
  const nearest = <A extends { readonly x: number; readonly width: number }>(among: ReadonlyArray<A>): A | null => {
    let best: A | null = null
    let least = near
    for (const one of among) {
      const far = x < one.x ? one.x - x : Math.max(0, x - one.x - one.width)
      if (far > least || (best !== null && far === least)) continue
      best = one
      least = far
    }
    return best
  }
  return nearest<Placed | Crowd>(placed[row] ?? crowds)
}

/** The step with the nearest tick, or the one that led to the state there. */
export const stepAt = ({ steps }: Thing, scale: Scale, x: number): Step => {
  const near = 4
  const index = stepBefore(steps, scale.at(x))
  const next = steps[index + 1]
  return next !== undefined &&
    scale.x(next.at) - x <= near &&
    scale.x(next.at) - x < Math.abs(x - scale.x(steps[index]!.at))
    ? next
    : steps[index]!
}
