import { useState } from "preact/hooks"
import type { Operation, OperationResponse } from "../../../../schemas/Operation.ts"
import { ask } from "../api.ts"
import { instant } from "../format.ts"
import { isOpenOperation, isWithdrawnOperation } from "../states.ts"
import { useAction } from "../ui/Action.tsx"
import { Fault } from "../ui/Fault.tsx"
import { shortCommand } from "./commandText.ts"

const isOpen = ({ status }: Operation): boolean => isOpenOperation(status)

/** The result of the cancellation; the response has the operation's final result. */
const sentenceOf = ({ status, exitCode, reason, startedAt, finishedAt }: Operation): string => {
  if (isWithdrawnOperation(status) && startedAt === null) return "Cancelled before it was seen to begin."
  if (isWithdrawnOperation(status)) return "Cancelled: its processes get TERM, and KILL after 2 s."
  const end = exitCode !== null ? ` with exit code ${exitCode}` : reason !== null ? ` (${reason.code})` : ""
  return `Too late: it had already ${status}${end}${finishedAt === null ? "" : ` at ${instant(finishedAt)}`}. That result is final.`
}

interface Asked {
  readonly operation: Operation
  readonly tell: (operation: Operation) => void
}

/** Shown while the operation runs, as far as this page knows. */
export const CancelOperation = ({ operation, tell }: Asked) => {
  const [said, setSaid] = useState<string | null>(null)
  const { isBusy, fault, run } = useAction(async () => {
    const path = `/api/v2/sandboxes/${operation.sandboxId}/operations/${operation.id}/cancel`
    const answer = await ask<OperationResponse>("POST", path)
    setSaid(sentenceOf(answer.operation))
    tell(answer.operation)
  })
  return (
    <div class="cancel">
      {isOpen(operation) ? (
        <button
          type="button"
          class="button small"
          onClick={() => void run()}
          aria-disabled={isBusy}
          aria-label={`Cancel ${shortCommand(operation.argv, 80)}`}
        >
          {isBusy ? "Cancelling …" : "Cancel"}
        </button>
      ) : null}
      <span role="status" class="hint">
        {said}
      </span>
      <Fault fault={fault} />
    </div>
  )
}
