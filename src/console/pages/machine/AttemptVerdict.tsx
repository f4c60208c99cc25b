/** What the machine said of the last event that it was sent. */
import type { Attempt } from "./played.ts"
import { refusalText } from "./refusals.ts"
import type { Verdict } from "./simulate.ts"

const sentences: Readonly<Record<Verdict["type"], string>> = {
  accepted: "was taken",
  unchanged: "changes nothing: the state ignores the event",
  refused: "was refused"
}

/** @param attempt Null: none yet. */
export const AttemptVerdict = ({ attempt }: { attempt: Attempt | null }) => (
  <div role="status" class="verdict">
    {attempt === null ? null : (
      <p class={attempt.verdict.type === "refused" ? "notice" : "said"}>
        <code class="event">{attempt.event.type}</code> in <strong>{attempt.state}</strong>{" "}
        {sentences[attempt.verdict.type]}
        {attempt.verdict.type === "refused" ? (
          <>
            : <code>{attempt.verdict.code}</code>
          </>
        ) : null}
        .
      </p>
    )}
    {attempt?.verdict.type === "refused" ? <span class="hint">{refusalText(attempt.verdict.code)}</span> : null}
  </div>
)
