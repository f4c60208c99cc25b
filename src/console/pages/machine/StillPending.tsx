import type { Transition } from "../../../../schemas/Transition.ts"
import type { Revision } from "./useLife.ts"

interface Shown {
  readonly revisions: ReadonlyArray<Revision>
  readonly pending: Transition["stillPending"]
}

/** Commands of earlier steps that were still pending at a moment. */
export const StillPending = ({ revisions, pending }: Shown) =>
  // Processes of older versions do not record this.
  pending == null ? (
    <p class="soft">Whether earlier commands were pending is not known.</p>
  ) : pending.length === 0 ? (
    <p class="soft">No earlier command was pending.</p>
  ) : (
    <div>
      <p class="asks">Pending from earlier steps</p>
      <ul class="commands" aria-label="Still pending">
        {pending.map(({ revision, index }) => (
          <li key={`${revision}.${index}`}>
            <code class="command">{revisions[revision - 1]?.transition.commands[index]?.type}</code> of revision{" "}
            {revision}
          </li>
        ))}
      </ul>
    </div>
  )
