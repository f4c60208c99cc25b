/** One Sandbox: its statechart as it stands, live, and the log of how it came there. */
import type { Transition } from "../../../schemas/Transition.ts"
import type { Statechart } from "../../statechart/Statechart.ts"
import { get } from "./api.ts"
import { size } from "./format.ts"
import { useLoad } from "./load.ts"
import { Status } from "./Sandboxes.tsx"
import { Chart } from "./sandboxes/Chart.tsx"
import { SandboxActions, titleOf } from "./sandboxes/SandboxActions.tsx"
import { type History, useHistory } from "./sandboxes/useHistory.ts"
import { Fault } from "./ui/Fault.tsx"
import { Instant } from "./ui/Instant.tsx"
import { Link } from "./ui/Link.tsx"
import { Live } from "./ui/Live.tsx"
import { Pane } from "./ui/Pane.tsx"
import { Scrolls } from "./ui/Scrolls.tsx"
import { WindowedRows } from "./ui/WindowedRows.tsx"

const Facts = ({ sandbox }: { sandbox: History["sandbox"] }) => (
  <dl class="facts">
    <dt>Machine</dt>
    <dd>
      {sandbox.profile.vcpus} vCPU · {size(sandbox.profile.memoryBytes)} of memory · volume of{" "}
      {size(sandbox.volume.sizeBytes)} · {sandbox.runtime}
    </dd>
    <dt>Network</dt>
    <dd>{sandbox.networkEnabled ? "yes" : "no"}</dd>
    <dt>Boots</dt>
    <dd>{sandbox.generation}</dd>
    <dt>Created</dt>
    <dd>
      <Instant at={sandbox.createdAt} />
    </dd>
    {Object.entries(sandbox.metadata).map(([key, value]) => [
      <dt key={`${key} key`} class="break">
        {key}
      </dt>,
      <dd key={`${key} value`} class="break">
        {value}
      </dd>
    ])}
    {sandbox.statusReason === null ? null : (
      <>
        <dt>Why it is {sandbox.status}</dt>
        <dd class="break">{sandbox.statusReason.message}</dd>
      </>
    )}
  </dl>
)

/** The same in words, for who does not see the drawing. */
const InWords = ({
  machine,
  history: { sandbox, transitions, nextEvents }
}: {
  machine: Statechart
  history: History
}) => {
  const last = transitions.at(-1)
  return (
    <p role="status">
      It is <strong>{sandbox.status}</strong>: {machine.states.find(({ name }) => name === sandbox.status)?.description}{" "}
      {last === undefined ? null : (
        <>
          <code>{last.event.type}</code> led to it.{" "}
        </>
      )}
      {nextEvents.length === 0 ? "Nothing can happen to it any more." : `It would take: ${nextEvents.join(", ")}.`}
    </p>
  )
}

const cells = ({ revision, at, event, from, to, commands, cause }: Transition) => [
  revision,
  <Instant key="at" at={at} />,
  <strong key="event">{event.type}</strong>,
  from === to ? to : `${from ?? "·"} → ${to}`,
  commands.map(({ type }) => type).join(", ") || "–",
  <code key="cause" class="soft">
    {cause}
  </code>
]

export const SandboxPage = ({ id }: { id: string }) => {
  const { loaded, feed } = useHistory(id)
  const machines = useLoad("machines", (signal) =>
    get<{ readonly machines: ReadonlyArray<Statechart> }>("/api/v2/machines", signal)
  )
  const sandbox = loaded.value?.sandbox
  const machine = machines.value?.machines.find(({ kind }) => kind === "sandbox")
  const age = <Live feed={feed} at={loaded.at} />
  return (
    <>
      <p>
        <Link to="/">All Sandboxes</Link>
      </p>
      <h1 class="break">{sandbox === undefined ? id : titleOf(sandbox)}</h1>
      <Pane title="State" loaded={loaded} age={age}>
        {(history) => (
          <>
            <div class="pane-head">
              <code class="soft">{id}</code>
              <Status sandbox={history.sandbox} />
              <SandboxActions sandbox={history.sandbox} tell={loaded.reload} look={async () => loaded.reload()} />
            </div>
            <Fault fault={machines.fault} retry={machines.reload} />
            {machine === undefined ? null : (
              <>
                <InWords machine={machine} history={history} />
                <Scrolls label="Statechart">
                  <Chart
                    machine={machine}
                    moment={{
                      state: history.transitions.at(-1)?.to ?? history.sandbox.status,
                      last: lastOf(history),
                      nextEvents: history.nextEvents
                    }}
                  />
                </Scrolls>
              </>
            )}
            <Facts sandbox={history.sandbox} />
          </>
        )}
      </Pane>
      <Pane title="Transitions" loaded={loaded} age={age}>
        {({ transitions }) => (
          <WindowedRows
            label="Transitions, the newest first"
            layout="of-transitions"
            columns={["Revision", "At", "Event", "State", "Commands", "Cause"]}
            rows={transitions.toReversed()}
            keyOf={({ revision }) => String(revision)}
            cells={cells}
          />
        )}
      </Pane>
    </>
  )
}

const lastOf = ({ transitions }: History) => {
  const last = transitions.at(-1)
  return last === undefined ? null : { from: last.from, event: last.event.type, to: last.to }
}
