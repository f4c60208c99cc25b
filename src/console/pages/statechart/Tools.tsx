/** The buttons above a diagram. */
import type { Viewport } from "./useViewport.ts"

export type ViewName = "neighbours" | "overview" | "detail"

const names: ReadonlyArray<readonly [ViewName, string, string]> = [
  ["neighbours", "Neighbours", "One state, with what leads to it and what it leads to"],
  ["overview", "Overview", "All states, with the names of events"],
  ["detail", "Detail", "All states, with guards and commands"]
]

interface Shown {
  readonly name: ViewName
  readonly choose: (name: ViewName) => void
  readonly viewport: Viewport
  readonly home: () => void
  readonly isFollowing: boolean
  /** Null: there is no life to follow. */
  readonly follow: ((isFollowing: boolean) => void) | null
  readonly isFull: boolean
  readonly setFull: (isFull: boolean) => void
}

export const Tools = ({ name, choose, viewport, home, isFollowing, follow, isFull, setFull }: Shown) => {
  const button = (label: string, text: string, act: () => void) => (
    <button type="button" class="button small" aria-label={label} title={label} onClick={act}>
      {text}
    </button>
  )
  return (
    <div class="tools" role="toolbar" aria-label="Diagram">
      {/* biome-ignore lint/a11y/useSemanticElements: no part of a form */}
      <span class="views" role="group" aria-label="View">
        {names.map(([one, text, title]) => (
          <button
            key={one}
            type="button"
            class="button small"
            title={title}
            aria-pressed={one === name}
            onClick={() => choose(one)}
          >
            {text}
          </button>
        ))}
      </span>
      {name === "neighbours" ? null : (
        <>
          {button("Make the diagram smaller", "−", () => viewport.zoom(0.8))}
          <output class="scale" aria-label="Zoom">
            {viewport.view === null ? "" : `${Math.round(100 * viewport.view.scale)} %`}
          </output>
          {button("Make the diagram larger", "+", () => viewport.zoom(1.25))}
          {button("Fit the whole diagram", "Fit", viewport.fit)}
        </>
      )}
      {button("Show the current state", "Current", home)}
      {follow === null ? null : (
        <button
          type="button"
          class="button small"
          aria-pressed={isFollowing}
          title="Shows the current state whenever it changes"
          onClick={() => follow(!isFollowing)}
        >
          Follow
        </button>
      )}
      <button type="button" class="button small" aria-pressed={isFull} onClick={() => setFull(!isFull)}>
        {isFull ? "Leave full screen" : "Full screen"}
      </button>
    </div>
  )
}
