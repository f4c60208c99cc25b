/** Everything that happened in a Sandbox, on one time line: a lane for the Sandbox and for each kind of resource in it. */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { count } from "../../format.ts"
import type { Revision } from "../../machine/useLife.ts"
import { navigate } from "../../router.ts"
import { Fault } from "../../ui/Fault.tsx"
import { Select } from "../../ui/Field.tsx"
import { LaneRow, type LaneStep } from "./LaneRow.tsx"
import { foundAt, type Lane, laneOf, stepAt } from "./layout.ts"
import { Steps } from "./Steps.tsx"
import { type Range, type Scale, scaleOf } from "./scale.ts"
import { nameOfKind, type Pointed, pathOfOperation, Told } from "./Told.tsx"
import { type LaneKind, laneKinds, lastOf, type Step, stepOf, type Thing } from "./things.ts"
import { axisOf, exactly, shortly, spelled } from "./times.ts"
import { beside, closer, farther, within } from "./zoom.ts"
import "./timeline.css"
import { isEnd, isOutcome, type Outcome } from "./tones.ts"
import { useHistory } from "./useHistory.ts"

interface Shown {
  readonly id: string
  readonly revisions: ReadonlyArray<Revision>
  /** The revision that the page shows. */
  readonly revision: number
  readonly choose: (revision: number) => void
}

const outcomeTexts: Readonly<Record<Outcome, string>> = {
  all: "all",
  open: "open",
  ended: "ended",
  failed: "failed or refused"
}

/** Steps of a log that only grows: each is converted once. */
const useSteps = (revisions: ReadonlyArray<Revision>): ReadonlyArray<Step> => {
  const kept = useRef<{ first: Revision | undefined; steps: ReadonlyArray<Step> }>({ first: undefined, steps: [] })
  return useMemo(() => {
    const known = kept.current.first === revisions[0] ? kept.current.steps : []
    const steps = [...known, ...revisions.slice(known.length).map(({ transition }) => stepOf(transition))]
    kept.current = { first: revisions[0], steps }
    return steps
  }, [revisions])
}

const useWidth = () => {
  const line = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  useLayoutEffect(() => {
    const shown = line.current!
    const look = () => setWidth(shown.clientWidth)
    look()
    const resized = new ResizeObserver(look)
    resized.observe(shown)
    return () => resized.disconnect()
  }, [])
  return { line, width }
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

/** Text description: the shown range, and the stretches that are drawn shorter. */
const summaryOf = ({ from, to, pieces }: Scale): string => {
  const gaps = pieces.filter(({ isGap }) => isGap).map((gap) => gap.to - gap.from)
  const longest = gaps.toSorted((a, b) => b - a).slice(0, 3)
  const idle =
    gaps.length === 0
      ? ""
      : gaps.length === 1
        ? ` A stretch of ${spelled(gaps[0]!)} without events is drawn shorter.`
        : ` ${gaps.length} stretches without events are drawn shorter (${gaps.length > 3 ? "the longest: " : ""}${longest.map(spelled).join(", ")}).`
  return `${exactly(from)} to ${exactly(to)}, ${spelled(to - from)}.${idle}`
}

export const Timeline = ({ id, revisions, revision, choose }: Shown) => {
  const history = useHistory(id)
  const steps = useSteps(revisions)
  const { line, width } = useWidth()
  const plot = useRef<HTMLDivElement>(null)
  const [hidden, setHidden] = useState<ReadonlySet<LaneKind>>(new Set())
  const [outcome, setOutcome] = useState<Outcome>("all")
  const [zoom, setZoom] = useState<Range | null>(null)
  const [pointed, point] = useState<Pointed | null>(null)
  /** The range that the pointer selects: positions on the line. */
  const [brush, setBrush] = useState<readonly [from: number, to: number] | null>(null)
  const pressed = useRef<number | null>(null)

  const byKind = useMemo(() => {
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

  const first = steps[0]!.at
  const lastAt = useMemo(
    () => history.things.reduce((latest, thing) => Math.max(latest, lastOf(thing).at), steps[steps.length - 1]!.at),
    [history.things, steps]
  )
  const isOver = isEnd("sandbox", steps[steps.length - 1]!.to)
  const isFollowing = !isOver && (zoom === null || zoom.to >= lastAt)
  const clock = useNow(isFollowing, (zoom?.to ?? Date.now()) - (zoom?.from ?? first))
  const now = isOver ? lastAt : Math.max(clock, lastAt)
  const whole: Range = { from: first, to: now }
  const { from, to } = zoom ?? whole

  const { scale, lanes } = useMemo(() => {
    const shown = laneKinds.filter((kind) => !hidden.has(kind))
    const range = { from, to }
    const scale = scaleOf(
      instantsOf(
        shown.flatMap((kind) => byKind.get(kind)!),
        range
      ),
      range,
      Math.max(width, 1)
    )
    return { scale, lanes: shown.map((kind): Lane => laneOf(kind, byKind.get(kind)!, scale, now)) }
  }, [byKind, hidden, from, to, width, now])

  const see = (range: Range) => setZoom(within(range, whole))
  const chosenAt = steps[Math.min(revision, steps.length) - 1]!.at
  const isSeen = (at: number) => at >= scale.from && at <= scale.to
  const middle = (): number =>
    pointed?.type === "step" && isSeen(pointed.step.at)
      ? pointed.step.at
      : isSeen(chosenAt)
        ? chosenAt
        : scale.at(scale.width / 2)
  const zoomIn = () => see(closer(scale, middle()))
  const zoomOut = () => see(farther(scale, middle()))
  const pan = (direction: -1 | 1) =>
    see(
      beside(
        scale,
        instantsOf(
          lanes.flatMap(({ kind }) => byKind.get(kind)!),
          whole
        ),
        direction
      )
    )

  // The content above changes its height with the selected moment; this keeps the line in place for the next click.
  const held = useRef<number | null>(null)
  const topOfPlot = (): number => plot.current!.getBoundingClientRect().top
  useLayoutEffect(() => {
    if (held.current !== null) scrollBy({ top: topOfPlot() - held.current, behavior: "instant" })
    held.current = null
  }, [revision])
  const chooseHere = (to: number) => {
    held.current = to === revision ? null : topOfPlot()
    choose(to)
  }

  const act = (chosen: Pointed) => {
    if (chosen.type === "crowd") {
      const { x, width: wide } = chosen.crowd
      see({ from: scale.at(x - 4), to: scale.at(x + wide + 4) })
    } else if (chosen.thing.kind === "sandbox") chooseHere(chosen.step.revision)
    else if (chosen.thing.kind === "operation") navigate(pathOfOperation(id, chosen.thing.id))
  }

  const placeOf = (event: PointerEvent): number => event.clientX - line.current!.getBoundingClientRect().left

  const under = (event: PointerEvent): Pointed | null => {
    const x = placeOf(event)
    if (x < -4 || x > scale.width + 4) return null
    for (const shown of plot.current!.querySelectorAll<HTMLElement>(".tl-line[data-lane]")) {
      const { top, bottom } = shown.getBoundingClientRect()
      if (event.clientY < top || event.clientY > bottom) continue
      const lane = lanes.find(({ kind }) => kind === shown.dataset["lane"])
      const found = lane === undefined ? null : foundAt(lane, x, event.clientY - top)
      if (found === null) return null
      return "thing" in found
        ? { type: "step", thing: found.thing, step: stepAt(found.thing, scale, x) }
        : { type: "crowd", kind: lane!.kind, crowd: found }
    }
    return null
  }

  const isSame = (a: Pointed | null, b: Pointed | null): boolean =>
    a === b ||
    (a?.type === "step" && b?.type === "step" && a.step === b.step) ||
    (a?.type === "crowd" && b?.type === "crowd" && a.crowd === b.crowd)

  const marked = pointed?.type === "step" && isSeen(pointed.step.at) ? pointed : null
  const markedIn = (kind: LaneKind): LaneStep | null => (marked?.thing.kind === kind ? marked : null)

  const gaps = scale.pieces.filter(({ isGap }) => isGap)
  const axis = useMemo(() => axisOf(scale), [scale])
  const isWhole = zoom === null
  return (
    <section class="timeline" aria-labelledby="timeline">
      <header class="pane-head">
        <h3 id="timeline">What happened when</h3>
        {history.isLoading ? <span class="as-of">Loading …</span> : null}
      </header>
      <Fault fault={history.fault} retry={history.reload} />
      <div class="filters">
        {/* biome-ignore lint/a11y/useSemanticElements: they are no fields of a form */}
        <div class="tl-kinds" role="group" aria-label="Lanes">
          {laneKinds.map((kind) => (
            <button
              key={kind}
              type="button"
              class="button small toggle"
              aria-pressed={!hidden.has(kind)}
              onClick={() => {
                const others = new Set(hidden)
                if (!others.delete(kind)) others.add(kind)
                setHidden(others)
              }}
            >
              {nameOfKind[kind][1]}
            </button>
          ))}
        </div>
        <Select
          label="Filter by state"
          name="outcome"
          value={outcome}
          onChoice={(value) => setOutcome(value as Outcome)}
          options={Object.entries(outcomeTexts)}
        />
        {/* biome-ignore lint/a11y/useSemanticElements: they are no fields of a form */}
        <div class="tl-kinds" role="group" aria-label="Range">
          <button type="button" class="button small" onClick={zoomIn} aria-label="Zoom in">
            +
          </button>
          <button type="button" class="button small" onClick={zoomOut} aria-disabled={isWhole} aria-label="Zoom out">
            −
          </button>
          <button type="button" class="button small" onClick={() => pan(-1)} aria-disabled={isWhole}>
            ‹ Earlier
          </button>
          <button type="button" class="button small" onClick={() => pan(1)} aria-disabled={isWhole}>
            Later ›
          </button>
          <button type="button" class="button small" onClick={() => setZoom(null)} aria-disabled={isWhole}>
            Whole life
          </button>
        </div>
      </div>
      <p class="hint tl-range" data-from={scale.from} data-to={scale.to}>
        {summaryOf(scale)}
      </p>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: what it does by the pointer, lanes and buttons in it do by the keyboard */}
      <div
        class={`tl-plot${pointed?.type === "crowd" || (marked !== null && (marked.thing.kind === "sandbox" || marked.thing.kind === "operation")) ? " tl-choosable" : ""}`}
        ref={plot}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return
          if (event.key === "+" || event.key === "=") zoomIn()
          else if (event.key === "-") zoomOut()
          else if (event.key === "0") setZoom(null)
          else if (event.key === "Escape") {
            pressed.current = null
            setBrush(null)
          } else return
          event.preventDefault()
        }}
        onPointerDown={(event) => {
          const x = placeOf(event)
          if (event.button !== 0 || x < 0 || x > scale.width) return
          pressed.current = x
          event.currentTarget.setPointerCapture(event.pointerId)
        }}
        onPointerMove={(event) => {
          const start = pressed.current
          const x = Math.max(0, Math.min(scale.width, placeOf(event)))
          if (start !== null && (brush !== null || Math.abs(x - start) > 4)) {
            setBrush([Math.min(start, x), Math.max(start, x)])
            return
          }
          const found = under(event)
          if (!isSame(found, pointed)) point(found)
        }}
        onPointerUp={(event) => {
          const isPressed = pressed.current !== null
          pressed.current = null
          if (brush !== null) {
            setBrush(null)
            if (brush[1] - brush[0] > 4) see({ from: scale.at(brush[0]), to: scale.at(brush[1]) })
            return
          }
          const found = isPressed ? under(event) : null
          if (found !== null) act(found)
        }}
        onPointerCancel={() => {
          pressed.current = null
          setBrush(null)
        }}
        onPointerLeave={(event) => {
          if (!event.currentTarget.contains(document.activeElement)) point(null)
        }}
      >
        <div class="tl-axis" aria-hidden="true">
          {axis.map(({ x, text }) => (
            <span key={x} style={{ transform: `translateX(${x}px)` }}>
              {text}
            </span>
          ))}
        </div>
        {lanes.map((lane) => (
          <LaneRow key={lane.kind} lane={lane} scale={scale} point={point} act={act} marked={markedIn(lane.kind)} />
        ))}
        <div class="tl-over" ref={line} aria-hidden="true">
          {gaps.map((gap) => (
            <div
              key={gap.from}
              class="tl-gap"
              data-ms={gap.to - gap.from}
              style={{ transform: `translateX(${gap.x}px)`, width: `${gap.width}px` }}
            >
              {gap.width < 30 ? null : <span>{shortly(gap.to - gap.from)}</span>}
            </div>
          ))}
          {isSeen(chosenAt) ? (
            <div class="tl-moment" style={{ transform: `translateX(${scale.x(chosenAt)}px)` }} />
          ) : null}
          {brush === null ? null : (
            <div
              class="tl-brush"
              style={{ transform: `translateX(${brush[0]}px)`, width: `${brush[1] - brush[0]}px` }}
            />
          )}
        </div>
      </div>
      <div class="about tl-about">
        <Told sandboxId={id} pointed={pointed} />
      </div>
      <p class="hint">
        Drag across the lanes to zoom in. In a lane, the arrow keys go from transition to transition, Enter selects one;
        + and − change the range, 0 shows the whole history. Of ended resources only those within the service's
        retention are shown.
      </p>
      {history.older === null ? null : (
        <div class="buttons">
          <button type="button" class="button small" onClick={history.older}>
            Load older
          </button>
          <span class="found">
            {count(history.things.length)} are loaded, the newest; older ones are not on the lanes.
          </span>
        </div>
      )}
      <Steps sandboxId={id} lanes={lanes} scale={scale} choose={chooseHere} />
    </section>
  )
}
