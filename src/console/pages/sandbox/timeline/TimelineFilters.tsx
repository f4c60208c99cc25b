/** What the time line shows: lanes, states and range. */
import { Select } from "../../ui/Field.tsx"
import { nameOfKind } from "./Told.tsx"
import { laneKinds } from "./things.ts"
import type { Outcome } from "./tones.ts"
import type { Lanes } from "./useLanes.ts"

const outcomeTexts: Readonly<Record<Outcome, string>> = {
  all: "all",
  open: "open",
  ended: "ended",
  failed: "failed or refused"
}

interface Shown {
  readonly lanes: Lanes
  /** The instant that stays in place. */
  readonly middle: () => number
}

export const TimelineFilters = ({ lanes, middle }: Shown) => {
  const { hidden, outcome, isWhole } = lanes
  return (
    <div class="filters">
      {/* biome-ignore lint/a11y/useSemanticElements: they are no fields of a form */}
      <div class="tl-kinds" role="group" aria-label="Lanes">
        {laneKinds.map((kind) => (
          <button
            key={kind}
            type="button"
            class="button small toggle"
            aria-pressed={!hidden.has(kind)}
            onClick={() => lanes.toggle(kind)}
          >
            {nameOfKind[kind][1]}
          </button>
        ))}
      </div>
      <Select
        label="Filter by state"
        name="outcome"
        value={outcome}
        onChoice={(value) => lanes.setOutcome(value as Outcome)}
        options={Object.entries(outcomeTexts)}
      />
      {/* biome-ignore lint/a11y/useSemanticElements: they are no fields of a form */}
      <div class="tl-kinds" role="group" aria-label="Range">
        <button type="button" class="button small" onClick={() => lanes.zoomIn(middle())} aria-label="Zoom in">
          +
        </button>
        <button
          type="button"
          class="button small"
          onClick={() => lanes.zoomOut(middle())}
          aria-disabled={isWhole}
          aria-label="Zoom out"
        >
          −
        </button>
        <button type="button" class="button small" onClick={() => lanes.pan(-1)} aria-disabled={isWhole}>
          ‹ Earlier
        </button>
        <button type="button" class="button small" onClick={() => lanes.pan(1)} aria-disabled={isWhole}>
          Later ›
        </button>
        <button type="button" class="button small" onClick={lanes.seeWhole} aria-disabled={isWhole}>
          Whole life
        </button>
      </div>
    </div>
  )
}
