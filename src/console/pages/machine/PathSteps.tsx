/** The steps of an opened path, forwards and back. */
import type { OpenedPath } from "./openedPath.ts"

interface Shown {
  readonly path: OpenedPath
  /** How many of its moments have passed. */
  readonly place: number
  readonly differs: string | null
  readonly go: (place: number) => void
}

export const PathSteps = ({ path, place, differs, go }: Shown) => {
  const { moments, actor } = path
  const moment = moments[place - 1]
  return (
    <div class="path" data-place={place} data-steps={moments.length}>
      <h3>
        A path that an exploration found: {actor}, step {place} of {moments.length}
      </h3>
      <p class="hint">{moment === undefined ? "Before the first step." : `${moment.by}: ${moment.label}`}</p>
      {differs === null ? null : (
        <p class="fault" role="alert">
          {differs}
        </p>
      )}
      <div class="buttons">
        <button type="button" class="button small" disabled={place === 0} onClick={() => go(place - 1)}>
          Previous step
        </button>
        <button type="button" class="button small" disabled={place === moments.length} onClick={() => go(place + 1)}>
          Next step
        </button>
      </div>
    </div>
  )
}
