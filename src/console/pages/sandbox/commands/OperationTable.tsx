import type { Operation } from "../../../../../schemas/Operation.ts"
import { duration, size } from "../../format.ts"
import { CancelOperation } from "../../operation/CancelOperation.tsx"
import { shortCommand } from "../../operation/commandText.ts"
import { Outcome } from "../../operation/Outcome.tsx"
import { Instant } from "../../ui/Instant.tsx"
import { Link } from "../../ui/Link.tsx"
import { Table } from "../../ui/Table.tsx"

const took = ({ startedAt, finishedAt }: Operation): string =>
  startedAt === null || finishedAt === null ? "–" : duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)

const written = ({ finishedAt, output: { stdoutBytes, stderrBytes } }: Operation): string =>
  [
    stderrBytes === 0 ? size(stdoutBytes) : `${size(stdoutBytes)} + ${size(stderrBytes)} of stderr`,
    ...(finishedAt === null ? ["so far"] : [])
  ].join(" ")

interface Shown {
  readonly operations: ReadonlyArray<Operation>
  readonly tell: (operation: Operation) => void
}

export const OperationTable = ({ operations, tell }: Shown) => (
  <Table label="Operations" columns={["Command", "Outcome", "Began", "Took", "Output"]} class="operations">
    {operations.map((operation) => {
      const command = shortCommand(operation.argv)
      return (
        <tr key={operation.id} data-operation={operation.id}>
          <td>
            <span class="block-link cut" title={command}>
              <Link to={`/sandboxes/${operation.sandboxId}/operations/${operation.id}`}>
                <code>{command}</code>
              </Link>
            </span>
          </td>
          <td>
            <span class="outcome">
              <Outcome operation={operation} />
              <CancelOperation operation={operation} tell={tell} />
            </span>
          </td>
          <td>
            <Instant at={operation.createdAt} />
          </td>
          <td>{took(operation)}</td>
          <td>{written(operation)}</td>
        </tr>
      )
    })}
  </Table>
)
