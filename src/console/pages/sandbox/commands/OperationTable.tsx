import type { Operation } from "../../../../../schemas/Operation.ts"
import { duration, size } from "../../format.ts"
import { CancelOperation } from "../../operation/CancelOperation.tsx"
import { commandText } from "../../operation/commandText.ts"
import { Outcome } from "../../operation/Outcome.tsx"
import { Instant } from "../../ui/Instant.tsx"
import { Link } from "../../ui/Link.tsx"
import { Scrolls } from "../../ui/Scrolls.tsx"

/** Whoever wants more looks at its page. */
const commandMaxCharacters = 200

const took = ({ startedAt, finishedAt }: Operation): string =>
  startedAt === null || finishedAt === null ? "–" : duration((Date.parse(finishedAt) - Date.parse(startedAt)) / 1000)

/** While it writes, nobody tells this list how much. */
const written = ({ finishedAt, output: { stdoutBytes, stderrBytes } }: Operation): string =>
  finishedAt === null
    ? "–"
    : stderrBytes === 0
      ? size(stdoutBytes)
      : `${size(stdoutBytes)} + ${size(stderrBytes)} of stderr`

interface Shown {
  readonly operations: ReadonlyArray<Operation>
  readonly tell: (operation: Operation) => void
}

export const OperationTable = ({ operations, tell }: Shown) => (
  <Scrolls label="Operations">
    <table class="operations">
      <thead>
        <tr>
          <th scope="col">Command</th>
          <th scope="col">Outcome</th>
          <th scope="col">Began</th>
          <th scope="col">Took</th>
          <th scope="col">Output</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      <tbody>
        {operations.map((operation) => {
          const command = commandText(operation.argv)
          return (
            <tr key={operation.id} data-operation={operation.id}>
              <td>
                <span class="block-link cut" title={command.slice(0, commandMaxCharacters)}>
                  <Link to={`/sandboxes/${operation.sandboxId}/operations/${operation.id}`}>
                    <code>{command.slice(0, commandMaxCharacters)}</code>
                  </Link>
                </span>
              </td>
              <td>
                <Outcome operation={operation} />
              </td>
              <td>
                <Instant at={operation.createdAt} />
              </td>
              <td>{took(operation)}</td>
              <td>{written(operation)}</td>
              <td>
                <CancelOperation operation={operation} tell={tell} />
              </td>
            </tr>
          )
        })}
      </tbody>
    </table>
  </Scrolls>
)
