import type { Transition } from "../../../../schemas/Transition.ts"
import type { Revision } from "./useLife.ts"

interface Shown {
  readonly revisions: ReadonlyArray<Revision>
  readonly pending: Transition["stillPending"]
}

/** What earlier steps had asked for, and the service had not done yet, at a moment. */
export const StillPending = ({ revisions, pending }: Shown) =>
  // A process of an older version tells nothing of it.
  pending == null ? (
    <p class="soft">It is not known which earlier commands were pending.</p>
  ) : pending.length === 0 ? (
    <p class="soft">No earlier command is pending.</p>
  ) : (
    <div>
      <p class="asks">Still pending from before</p>
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
