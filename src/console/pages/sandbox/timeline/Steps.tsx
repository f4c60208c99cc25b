/** All transitions of the lanes, as a table. */
import { useMemo, useState } from "preact/hooks"
import { Link } from "../../ui/Link.tsx"
import { WindowedRows } from "../../ui/WindowedRows.tsx"
import { stepsIn } from "./LaneRow.tsx"
import type { Lane } from "./layout.ts"
import type { Scale } from "./scale.ts"
import { nameOfKind, pathOfOperation } from "./Told.tsx"
import { exactly } from "./times.ts"

interface Shown {
  readonly sandboxId: string
  readonly lanes: ReadonlyArray<Lane>
  readonly scale: Scale
  readonly choose: (revision: number) => void
}

const Table = ({ sandboxId, lanes, scale, choose }: Shown) => {
  const rows = useMemo(
    () => lanes.flatMap((lane) => stepsIn(lane, scale)).sort((a, b) => a.step.at - b.step.at),
    [lanes, scale]
  )
  return (
    <WindowedRows
      label="Transitions on the lanes"
      layout="of-steps"
      columns={["What", "Event", "From", "To", "At", "Cause", "Request"]}
      rows={rows}
      keyOf={({ thing, step }) => `${thing.id} ${step.revision}`}
      cells={({ thing, step }) => [
        thing.kind === "sandbox" ? (
          <button key="what" type="button" class="button small" onClick={() => choose(step.revision)}>
            Sandbox, revision {step.revision}
          </button>
        ) : thing.kind === "operation" ? (
          <Link key="what" to={pathOfOperation(sandboxId, thing.id)}>
            Operation {thing.id}
          </Link>
        ) : (
          `${nameOfKind[thing.kind][0]} ${thing.id}`
        ),
        <code key="event" class="event">
          {step.event}
        </code>,
        step.from ?? "–",
        step.to,
        <time key="at" dateTime={new Date(step.at).toISOString()}>
          {exactly(step.at)}
        </time>,
        step.cause,
        step.requestId === null ? "–" : <code key="request">{step.requestId}</code>
      ]}
    />
  )
}

export const Steps = (shown: Shown) => {
  const [isOpen, setOpen] = useState(false)
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>The same as a table</summary>
      {isOpen ? <Table {...shown} /> : null}
    </details>
  )
}
