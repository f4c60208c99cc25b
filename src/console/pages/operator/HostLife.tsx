/** The machine of one host with its present state, its last transition, and the operator's requests. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks"
import type { HostLife as Life } from "../../../../schemas/console/Hosts.ts"
import { litOf } from "../../../statechart/lit.ts"
import { get } from "../api.ts"
import { count, size } from "../format.ts"
import { hostKind } from "../machine/hostKind.ts"
import { StatechartViewer } from "../statechart/StatechartViewer.tsx"
import { Instant } from "../ui/Instant.tsx"
import { Live } from "../ui/Live.tsx"
import { Pane } from "../ui/Pane.tsx"
import { Table } from "../ui/Table.tsx"
import { feedOf, useFollowed } from "./followed.ts"
import { labelOf } from "./hostTexts.ts"
import { base } from "./operatorSession.ts"

const { chart } = hostKind

/** Drawn again only after a change. */
const Drawing = ({ host: { state }, transitions }: Life) => {
  const last = transitions.find(({ from, to }) => from !== to)
  const turn = last?.revision ?? 0
  return useMemo(() => {
    const lit = litOf(chart, {
      state,
      // A transition that is no longer in the log is unknown.
      last: last?.to === state ? last : null,
      nextEvents: chart.transitions.flatMap(({ from, event }) => (from === state ? [event] : []))
    })
    return <StatechartViewer chart={chart} turn={turn} lit={lit} />
  }, [state, turn])
}

const Facts = ({ host }: Pick<Life, "host">) => (
  <dl class="facts">
    <dt>Id</dt>
    <dd>
      <code class="break">{host.id}</code>
    </dd>
    <dt>Address</dt>
    <dd>
      <code class="break">
        {host.address.host}:{host.address.port}
      </code>
    </dd>
    <dt>Joined</dt>
    <dd>{Date.parse(host.joinedAt) === 0 ? "never" : <Instant at={host.joinedAt} />}</dd>
    <dt>Wanted</dt>
    <dd>{host.wish}</dd>
    <dt>Driver</dt>
    <dd>{host.driver}</dd>
    <dt>Room</dt>
    <dd>
      {count(host.capacity.vcpus)} vCPUs, {size(host.capacity.memoryBytes)} of memory, {size(host.capacity.diskBytes)}{" "}
      of disk; {count(host.capacity.parallelStarts)} concurrent boots
    </dd>
  </dl>
)

const Log = ({ transitions }: Pick<Life, "transitions">) => (
  <Table label="Recent transitions" columns={["Time", "Event", "State", "By"]}>
    {transitions.map(({ revision, at, event, from, to, cause }) => (
      <tr key={revision}>
        <td>
          <Instant at={at} />
        </td>
        <td>
          <code class="event">{event}</code>
        </td>
        <td>{from === to ? to : `${from ?? "–"} → ${to}`}</td>
        <td>{cause}</td>
      </tr>
    ))}
  </Table>
)

export const HostLife = ({ hostId }: { hostId: string }) => {
  const loaded = useFollowed(hostId, (signal) => get<Life>(`${base}/hosts/${encodeURIComponent(hostId)}`, signal))
  const shown = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => shown.current?.focus(), [hostId])
  const { value } = loaded
  return (
    <div ref={shown} tabIndex={-1} class="host-life">
      <Pane
        title={value === null ? "Machine" : `Machine of ${labelOf(value.host)}`}
        loaded={loaded}
        age={<Live feed={feedOf(loaded)} at={loaded.at} />}
      >
        {(life) => (
          <div class="beside">
            <Drawing {...life} />
            <div class="controls">
              <Facts host={life.host} />
              <Log transitions={life.transitions} />
            </div>
          </div>
        )}
      </Pane>
    </div>
  )
}
