/** A slider over an actor's history, with marks at revisions of interest. */
import { useId } from "preact/hooks"
import type { Revision } from "./useLife.ts"

/** A mark at the slider, with its text. */
export interface Mark {
  readonly revision: number
  readonly label: string
}

interface Shown {
  readonly shown: Revision
  readonly newest: number
  readonly isFollowing: boolean
  readonly marks: ReadonlyArray<Mark>
  readonly go: (revision: number) => void
}

export const Scrubber = ({ shown: { transition }, newest, isFollowing, marks, go }: Shown) => {
  const list = useId()
  const { revision } = transition
  const marked = marks.filter((mark) => mark.revision === revision).map(({ label }) => label)
  const what = [`Revision ${revision} of ${newest}: ${transition.event.type}, ${transition.to}`, ...marked].join("; ")
  return (
    <div class="scrubber">
      <button type="button" class="button small" onClick={() => go(1)} disabled={revision === 1}>
        First
      </button>
      <button
        type="button"
        class="button small"
        onClick={() => go(revision - 1)}
        disabled={revision === 1}
        aria-label="One revision back"
      >
        ‹
      </button>
      <input
        type="range"
        min={1}
        max={newest}
        step={1}
        value={revision}
        aria-label="Revision"
        aria-valuetext={what}
        {...(marks.length === 0 ? {} : { list })}
        onInput={({ currentTarget }) => go(Number(currentTarget.value))}
      />
      {marks.length === 0 ? null : (
        <datalist id={list}>
          {marks.map((mark) => (
            <option key={`${mark.revision} ${mark.label}`} value={mark.revision} label={mark.label} />
          ))}
        </datalist>
      )}
      <button
        type="button"
        class="button small"
        onClick={() => go(revision + 1)}
        disabled={revision === newest}
        aria-label="One revision on"
      >
        ›
      </button>
      <button type="button" class="button small" onClick={() => go(newest)} disabled={isFollowing}>
        Newest
      </button>
      <span class="as-of" data-revision={revision} data-newest={newest}>
        Revision {revision} of {newest}
        {isFollowing ? ", following" : ""}
      </span>
    </div>
  )
}
