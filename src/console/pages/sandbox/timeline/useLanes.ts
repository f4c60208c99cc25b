/** The lanes of a time line: what they show, of which range, and to which scale. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks"
import type { Revision } from "../../machine/useLife.ts"
import { type Lane, laneOf } from "./layout.ts"
import { type Range, type Scale, scaleOf } from "./scale.ts"
import { type LaneKind, laneKinds, lastOf, type Step, stepOf, type Thing } from "./things.ts"
import { isEnd, isOutcome, type Outcome } from "./tones.ts"
import type { History } from "./useHistory.ts"
import { beside, closer, farther, within } from "./zoom.ts"

/** Steps of a log that only grows: each is converted once. */
export const useSteps = (revisions: ReadonlyArray<Revision>): ReadonlyArray<Step> => {
  const kept = useRef<{ first: Revision | undefined; steps: ReadonlyArray<Step> }>({ first: undefined, steps: [] })
  return useMemo(() => {
    const known = kept.current.first === revisions[0] ? kept.current.steps : []
    const steps = [...known, ...revisions.slice(known.length).map(({ transition }) => stepOf(transition))]
    kept.current = { first: revisions[0], steps }
    return steps
  }, [revisions])
}

/** Epoch milliseconds, updated as often as a change is visible. */
const useNow = (isWanted: boolean, lengthMs: number): number => {
  const [now, setNow] = useState(() => Date.now())
  const everyMs = lengthMs < 300_000 ? 1000 : lengthMs < 7_200_000 ? 10_000 : 60_000
  useEffect(() => {
    if (!isWanted) return
    setNow(Date.now())
    const timer = setInterval(() => {
      if (!document.hidden) setNow(Date.now())
    }, everyMs)
    return () => clearInterval(timer)
  }, [isWanted, everyMs])
  return now
}

const instantsOf = (things: Iterable<Thing>, { from, to }: Range): Float64Array => {
  const found: Array<number> = []
  for (const { steps } of things) for (const { at } of steps) if (at >= from && at <= to) found.push(at)
  return Float64Array.from(found).sort()
}

interface Shown {
  readonly id: string
  readonly steps: ReadonlyArray<Step>
  readonly history: History
  /** Of the line, in pixels. */
  readonly width: number
}

/** The things of each lane that the filter lets through. */
const useKinds = ({ id, steps, history }: Shown, outcome: Outcome): ReadonlyMap<LaneKind, ReadonlyArray<Thing>> =>
  useMemo(() => {
    const sandbox: Thing = { kind: "sandbox", id, steps }
    const of = new Map<LaneKind, ReadonlyArray<Thing>>([["sandbox", steps.length === 0 ? [] : [sandbox]]])
    for (const kind of laneKinds.slice(1)) {
      of.set(
        kind,
        history.things.filter((thing) => thing.kind === kind && isOutcome(thing, outcome))
      )
    }
    return of
  }, [id, steps, history.things, outcome])

/** The whole life up to now, or up to its end. */
const useWhole = ({ steps, history }: Shown, zoom: Range | null): Range => {
  const first = steps[0]!.at
  const last = steps[steps.length - 1]!
  const lastAt = useMemo(
    () => history.things.reduce((latest, thing) => Math.max(latest, lastOf(thing).at), steps[steps.length - 1]!.at),
    [history.things, steps]
  )
  const isOver = isEnd("sandbox", last.to)
  const isFollowing = !isOver && (zoom === null || zoom.to >= lastAt)
  const clock = useNow(isFollowing, (zoom?.to ?? Date.now()) - (zoom?.from ?? first))
  return { from: first, to: isOver ? lastAt : Math.max(clock, lastAt) }
}

export const useLanes = (shown: Shown) => {
  const [hidden, setHidden] = useState<ReadonlySet<LaneKind>>(new Set())
  const [outcome, setOutcome] = useState<Outcome>("all")
  const [zoom, setZoom] = useState<Range | null>(null)
  const byKind = useKinds(shown, outcome)
  const whole = useWhole(shown, zoom)
  const now = whole.to
  const { from, to } = zoom ?? whole
  const { width } = shown
  const { scale, lanes } = useMemo(() => {
    const kinds = laneKinds.filter((kind) => !hidden.has(kind))
    const range = { from, to }
    const all = kinds.flatMap((kind) => byKind.get(kind)!)
    const scale: Scale = scaleOf(instantsOf(all, range), range, Math.max(width, 1))
    return { scale, lanes: kinds.map((kind): Lane => laneOf(kind, byKind.get(kind)!, scale, now)) }
  }, [byKind, hidden, from, to, width, now])
  const see = (range: Range) => setZoom(within(range, whole))
  return {
    scale,
    lanes,
    hidden,
    outcome,
    setOutcome,
    isWhole: zoom === null,
    isSeen: (at: number) => at >= scale.from && at <= scale.to,
    toggle: (kind: LaneKind) => {
      const others = new Set(hidden)
      if (!others.delete(kind)) others.add(kind)
      setHidden(others)
    },
    see,
    seeWhole: () => setZoom(null),
    zoomIn: (middle: number) => see(closer(scale, middle)),
    zoomOut: (middle: number) => see(farther(scale, middle)),
    pan: (direction: -1 | 1) => {
      const all = lanes.flatMap(({ kind }) => byKind.get(kind)!)
      see(beside(scale, instantsOf(all, whole), direction))
    }
  }
}

export type Lanes = ReturnType<typeof useLanes>
