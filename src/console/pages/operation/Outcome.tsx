/** The status of an operation, and the result of its command. */
import type { Operation } from "../../../../schemas/Operation.ts"
import "./operation.css"

/** Null: no result yet. */
const endOf = ({ exitCode, signal, reason }: Operation): string | null =>
  exitCode !== null ? `exit code ${exitCode}` : signal !== null ? signal : (reason?.code ?? null)

export const Outcome = ({ operation }: { operation: Operation }) => {
  const end = endOf(operation)
  return (
    <span class="outcome">
      <span class={`status ${operation.status}`} data-status={operation.status}>
        {operation.status}
      </span>
      {end === null ? null : <span class={operation.exitCode === 0 ? "tint-good" : "tint-bad"}>{end}</span>}
    </span>
  )
}
