/** One lane: a drawing, and a list of its transitions for the keyboard. */
import { useId, useMemo, useState } from "preact/hooks"
import { count } from "../../format.ts"
import { fits, heightOf, type Lane, rowHeight, topOf } from "./layout.ts"
import type { Scale } from "./scale.ts"
import { nameOfKind, type Pointed, sentenceOf } from "./Told.tsx"
import type { Step, Thing } from "./things.ts"

export interface LaneStep {
  readonly thing: Thing
  readonly step: Step
}

/** The transitions of a lane in its range, in order of time. */
export const stepsIn = ({ things }: Lane, { from, to }: Scale): ReadonlyArray<LaneStep> =>
  things
    .flatMap((thing) =>
      thing.steps.filter(({ at }) => at >= from && at <= to).map((step): LaneStep => ({ thing, step }))
    )
    .sort((a, b) => a.step.at - b.step.at)

const Drawing = ({ lane, width }: { lane: Lane; width: number }) => {
  const height = heightOf(lane)
  return (
    <svg class="tl-lane" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      {[...lane.bars].map(([tone, path]) => (
        <path key={tone} class={`tl-bar tl-${tone}`} d={path} />
      ))}
      {lane.crowds.map(({ x, width: wide, things }) => (
        <g key={x}>
          <rect class="tl-crowd" x={x} y={topOf(lane.rows - 1)} width={wide} height={rowHeight} />
          {!fits(`+${things.length}`, wide) ? null : (
            <text class="tl-name tl-of-calm" x={x + 5} y={topOf(lane.rows - 1) + 14}>
              +{things.length}
            </text>
          )}
        </g>
      ))}
      <path class="tl-ticks" d={lane.ticks} />
      {lane.names.map(({ x, row, text, tone }) => (
        <text key={`${row} ${x}`} class={`tl-name tl-of-${tone}`} x={x} y={topOf(row) + 14}>
          {text}
        </text>
      ))}
    </svg>
  )
}

interface Shown {
  readonly lane: Lane
  readonly scale: Scale
  readonly point: (pointed: Pointed | null) => void
  readonly act: (pointed: Pointed) => void
  /** The transition under the pointer or the keyboard focus. */
  readonly marked: LaneStep | null
}

const rowOf = ({ placed, rows }: Lane, thing: Thing): number => {
  const row = placed.findIndex((things) => things.some((one) => one.thing.id === thing.id))
  return row === -1 ? rows - 1 : row
}

/** The new keyboard position after a key; null: the key has another meaning. */
const after = (key: string, steps: ReadonlyArray<LaneStep>, at: number): number | null => {
  const clamped = (to: number) => Math.max(0, Math.min(steps.length - 1, to))
  switch (key) {
    case "ArrowRight":
      return clamped(at + 1)
    case "ArrowLeft":
      return clamped(at - 1)
    case "PageDown":
      return clamped(at + 10)
    case "PageUp":
      return clamped(at - 10)
    case "Home":
      return 0
    case "End":
      return clamped(steps.length)
    case "ArrowDown": {
      const other = steps.findIndex(({ thing }, index) => index > at && thing !== steps[at]!.thing)
      return other === -1 ? at : other
    }
    case "ArrowUp":
      return Math.max(
        0,
        steps.findLastIndex(({ thing }, index) => index < at && thing !== steps[at]!.thing)
      )
    default:
      return null
  }
}

export const LaneRow = ({ lane, scale, point, act, marked }: Shown) => {
  const id = useId()
  const [hasFocus, setFocus] = useState(false)
  const drawing = useMemo(() => <Drawing lane={lane} width={scale.width} />, [lane, scale.width])
  const steps = useMemo(() => (hasFocus ? stepsIn(lane, scale) : []), [hasFocus, lane, scale])
  const [kept, keep] = useState<LaneStep | null>(null)
  const title = nameOfKind[lane.kind][1]
  const known =
    kept === null
      ? -1
      : steps.findIndex(({ thing, step }) => thing.id === kept.thing.id && step.revision === kept.step.revision)
  const at = Math.max(0, known)
  const current = steps[at] ?? null
  const go = (to: number) => {
    const next = steps[to]
    if (next === undefined) return
    keep(next)
    point({ type: "step", ...next })
  }
  const heading = (
    <p class="tl-title">
      {title}
      {lane.kind === "sandbox" ? null : <span class="soft"> {count(lane.things.length)}</span>}
    </p>
  )
  if (lane.things.length === 0) {
    return (
      <div class="tl-row" data-lane={lane.kind}>
        {heading}
        <p class="tl-none soft">none here</p>
      </div>
    )
  }
  return (
    <div class="tl-row">
      {heading}
      <div
        class="tl-line"
        data-lane={lane.kind}
        role="listbox"
        tabIndex={0}
        aria-label={`${title}, transitions`}
        aria-orientation="horizontal"
        {...(current === null ? {} : { "aria-activedescendant": `${id}-step` })}
        onFocus={(event) => {
          setFocus(true)
          // A pointer marks a transition by itself.
          if (!event.currentTarget.matches(":focus-visible")) return
          const all = stepsIn(lane, scale)
          const first = kept !== null && all.some(({ step }) => step === kept.step) ? kept : all[0]
          if (first === undefined) return
          keep(first)
          point({ type: "step", ...first })
        }}
        onBlur={() => setFocus(false)}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey) return
          if ((event.key === "Enter" || event.key === " ") && current !== null) {
            event.preventDefault()
            act({ type: "step", ...current })
            return
          }
          const to = after(event.key, steps, at)
          if (to === null) return
          event.preventDefault()
          go(to)
        }}
      >
        {drawing}
        {marked === null ? null : (
          <svg class="tl-mark" width={scale.width} height={heightOf(lane)} aria-hidden="true">
            <rect
              x={scale.x(marked.step.at) - 3.5}
              y={topOf(rowOf(lane, marked.thing)) - 3}
              width={8}
              height={rowHeight + 6}
              rx={3}
            />
          </svg>
        )}
        {/* Only the focused one: there may be thousands. */}
        {/* biome-ignore lint/a11y/useFocusableInteractive: the list has the focus, and names this one */}
        <div
          id={`${id}-step`}
          class="tl-said"
          role="option"
          aria-selected={current !== null}
          aria-posinset={current === null ? 1 : at + 1}
          aria-setsize={Math.max(1, steps.length)}
        >
          {current === null ? `${count(lane.things.length)} here` : sentenceOf(current.thing, current.step)}
        </div>
      </div>
    </div>
  )
}
