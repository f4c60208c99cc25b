/** Commands of a Sandbox: to run one and see what it writes, and all that were run. */

import { useState } from "preact/hooks"
import type { Operation } from "../../../../../schemas/Operation.ts"
import { CancelOperation } from "../../operation/CancelOperation.tsx"
import { shortCommand } from "../../operation/commandText.ts"
import { Outcome } from "../../operation/Outcome.tsx"
import { Output } from "../../operation/Output.tsx"
import { isAsleep } from "../../states.ts"
import { Link } from "../../ui/Link.tsx"
import { Live } from "../../ui/Live.tsx"
import { More } from "../../ui/More.tsx"
import { Pane } from "../../ui/Pane.tsx"
import { NotRunning } from "../NotRunning.tsx"
import type { TabProps } from "../TabProps.ts"
import "./commands.css"
import { OperationTable } from "./OperationTable.tsx"
import { RunCommand } from "./RunCommand.tsx"
import { useOperations } from "./useOperations.ts"

/** The latest command that was started here. */
const Last = ({ operation, tell }: { operation: Operation; tell: (operation: Operation) => void }) => (
  <section class="pane" aria-labelledby="last-command">
    <header class="pane-head">
      <h2 id="last-command" class="cut">
        <code>{shortCommand(operation.argv)}</code>
      </h2>
      <span role="status">
        <Outcome operation={operation} />
      </span>
      <CancelOperation operation={operation} tell={tell} />
      <Link to={`/sandboxes/${operation.sandboxId}/operations/${operation.id}`}>Details</Link>
    </header>
    <Output
      path={`/api/v2/sandboxes/${operation.sandboxId}/operations/${operation.id}`}
      known={operation.output}
      ended={tell}
    />
  </section>
)

export const Commands = ({ sandbox }: TabProps) => {
  const { listed, operations, told, tell, feed } = useOperations(sandbox.id)
  const [lastId, setLast] = useState<string | null>(null)
  const last = lastId === null ? undefined : told.get(lastId)
  return (
    <>
      <section class="pane" aria-labelledby="run">
        <h2 id="run">Run a command</h2>
        {/* A command wakes a Sandbox that sleeps. */}
        {isAsleep(sandbox.status) ? null : <NotRunning sandbox={sandbox} to="run commands" />}
        <RunCommand
          sandboxId={sandbox.id}
          started={(operation) => {
            tell(operation)
            setLast(operation.id)
          }}
        />
      </section>
      {last === undefined ? null : <Last key={last.id} operation={last} tell={tell} />}
      <Pane title="Operations" loaded={listed} age={<Live feed={feed} at={listed.at} />}>
        {() =>
          operations.length === 0 ? (
            <p class="empty">No operation has run in this Sandbox yet.</p>
          ) : (
            <>
              <OperationTable operations={operations} tell={tell} />
              <More list={listed} />
            </>
          )
        }
      </Pane>
    </>
  )
}
