/** Everything that happened in a Sandbox, on one time line: a lane for the Sandbox and for each kind of resource in it. */
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks"
import { count } from "../../format.ts"
import type { Revision } from "../../machine/useLife.ts"
import { navigate } from "../../router.ts"
import { Fault } from "../../ui/Fault.tsx"
import { LaneRow, type LaneStep } from "./LaneRow.tsx"
import { Overlay } from "./Overlay.tsx"
import { Steps } from "./Steps.tsx"
import type { Scale } from "./scale.ts"
import { TimelineFilters } from "./TimelineFilters.tsx"
import { type Pointed, pathOfOperation, Told } from "./Told.tsx"
import type { LaneKind } from "./things.ts"
import { axisOf, exactly, spelled } from "./times.ts"
import "./timeline.css"
import { useHistory } from "./useHistory.ts"
import { type Lanes, useLanes, useSteps } from "./useLanes.ts"
import { usePointing } from "./usePointing.ts"

interface Shown {
  readonly id: string
  readonly revisions: ReadonlyArray<Revision>
  /** The revision that the page shows. */
  readonly revision: number
  readonly choose: (revision: number) => void
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

/** Chooses a revision, and keeps the line in place for the next click: the content above changes its height with the selected moment. */
const useChoice = (plot: { readonly current: HTMLElement | null }, { revision, choose }: Shown) => {
  const held = useRef<number | null>(null)
  const topOfPlot = (): number => plot.current!.getBoundingClientRect().top
  useLayoutEffect(() => {
    if (held.current !== null) scrollBy({ top: topOfPlot() - held.current, behavior: "instant" })
    held.current = null
  }, [revision])
  return (to: number) => {
    held.current = to === revision ? null : topOfPlot()
    choose(to)
  }
}

const isChoosable = (pointed: Pointed | null, marked: LaneStep | null): boolean =>
  pointed?.type === "crowd" ||
  (marked !== null && (marked.thing.kind === "sandbox" || marked.thing.kind === "operation"))

interface Plotted {
  readonly id: string
  readonly shown: Lanes
  readonly plot: { readonly current: HTMLDivElement | null }
  readonly line: { readonly current: HTMLDivElement | null }
  readonly pointed: Pointed | null
  readonly point: (pointed: Pointed | null) => void
  readonly chosenAt: number
  readonly chooseHere: (revision: number) => void
  readonly middle: () => number
}

const Plot = ({ id, shown, plot, line, pointed, point, chosenAt, chooseHere, middle }: Plotted) => {
  const { scale, lanes, isSeen, see } = shown
  const axis = useMemo(() => axisOf(scale), [scale])
  const act = (chosen: Pointed) => {
    if (chosen.type === "crowd") {
      const { x, width: wide } = chosen.crowd
      see({ from: scale.at(x - 4), to: scale.at(x + wide + 4) })
    } else if (chosen.thing.kind === "sandbox") chooseHere(chosen.step.revision)
    else if (chosen.thing.kind === "operation") navigate(pathOfOperation(id, chosen.thing.id))
  }
  const { brush, giveUp, handlers } = usePointing(pointed, point, { plot, line, shown, act })
  const marked = pointed?.type === "step" && isSeen(pointed.step.at) ? pointed : null
  const markedIn = (kind: LaneKind): LaneStep | null => (marked?.thing.kind === kind ? marked : null)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "+" || event.key === "=") shown.zoomIn(middle())
    else if (event.key === "-") shown.zoomOut(middle())
    else if (event.key === "0") shown.seeWhole()
    else if (event.key === "Escape") giveUp()
    else return
    event.preventDefault()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what it does by the pointer, lanes and buttons in it do by the keyboard
    <div
      class={`tl-plot${isChoosable(pointed, marked) ? " tl-choosable" : ""}`}
      ref={plot}
      onKeyDown={onKeyDown}
      {...handlers}
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
      <Overlay line={line} scale={scale} chosenAt={isSeen(chosenAt) ? chosenAt : null} brush={brush} />
    </div>
  )
}

export const Timeline = (given: Shown) => {
  const { id, revisions, revision } = given
  const history = useHistory(id)
  const steps = useSteps(revisions)
  const { line, width } = useWidth()
  const plot = useRef<HTMLDivElement>(null)
  const [pointed, point] = useState<Pointed | null>(null)
  const shown = useLanes({ id, steps, history, width })
  const { scale, lanes, isSeen } = shown
  const chooseHere = useChoice(plot, given)
  const chosenAt = steps[Math.min(revision, steps.length) - 1]!.at
  const middle = (): number => {
    if (pointed?.type === "step" && isSeen(pointed.step.at)) return pointed.step.at
    return isSeen(chosenAt) ? chosenAt : scale.at(scale.width / 2)
  }
  return (
    <section class="timeline" aria-labelledby="timeline">
      <header class="pane-head">
        <h3 id="timeline">What happened when</h3>
        {history.isLoading ? <span class="as-of">Loading …</span> : null}
      </header>
      <Fault fault={history.fault} retry={history.reload} />
      <TimelineFilters lanes={shown} middle={middle} />
      <p class="hint tl-range" data-from={scale.from} data-to={scale.to}>
        {summaryOf(scale)}
      </p>
      <Plot {...{ id, shown, plot, line, pointed, point, chosenAt, chooseHere, middle }} />
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
