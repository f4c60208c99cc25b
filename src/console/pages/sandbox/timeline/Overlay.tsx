/** What lies over the lanes: gaps, the chosen moment, and the range that the pointer selects. */
import type { RefObject } from "preact"
import type { Scale } from "./scale.ts"
import { shortly } from "./times.ts"

interface Shown {
  readonly line: RefObject<HTMLDivElement | null>
  readonly scale: Scale
  /** Null: outside of the range. */
  readonly chosenAt: number | null
  readonly brush: readonly [from: number, to: number] | null
}

export const Overlay = ({ line, scale, chosenAt, brush }: Shown) => (
  <div class="tl-over" ref={line} aria-hidden="true">
    {scale.pieces
      .filter(({ isGap }) => isGap)
      .map((gap) => (
        <div
          key={gap.from}
          class="tl-gap"
          data-ms={gap.to - gap.from}
          style={{ transform: `translateX(${gap.x}px)`, width: `${gap.width}px` }}
        >
          {gap.width < 30 ? null : <span>{shortly(gap.to - gap.from)}</span>}
        </div>
      ))}
    {chosenAt === null ? null : <div class="tl-moment" style={{ transform: `translateX(${scale.x(chosenAt)}px)` }} />}
    {brush === null ? null : (
      <div class="tl-brush" style={{ transform: `translateX(${brush[0]}px)`, width: `${brush[1] - brush[0]}px` }} />
    )}
  </div>
)
