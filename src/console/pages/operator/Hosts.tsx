/** The hosts of the fleet in their present state, a page at a time. */
import { useRef, useState } from "preact/hooks"
import type { Host, HostPage } from "../../../../schemas/console/Hosts.ts"
import { get, queryOf } from "../api.ts"
import { count } from "../format.ts"
import { hostKind } from "../machine/hostKind.ts"
import { Field, Select } from "../ui/Field.tsx"
import { Live } from "../ui/Live.tsx"
import { Pane } from "../ui/Pane.tsx"
import { AskHost, type Wish } from "./AskHost.tsx"
import { feedOf, useFollowed } from "./followed.ts"
import { HostLife } from "./HostLife.tsx"
import { HostTable } from "./HostTable.tsx"
import { base } from "./operatorSession.ts"
import { Pages } from "./Pages.tsx"
import { useTurned } from "./useTurned.ts"

const pageRows = 50

const none = ({ isFleet, states }: HostPage, isFiltered: boolean): string => {
  if (!isFleet) return "This Atoll carries its Sandboxes itself (ATOLL_ROLE=all): this is the only host."
  if (isFiltered) return "No host matches."
  return (states["gone"] ?? 0) === 0
    ? "No host has joined yet. Start one with ATOLL_ROLE=host and ATOLL_FLEET_JOIN."
    : "All hosts were removed."
}

export const Hosts = () => {
  const [state, setState] = useState("")
  const turned = useTurned()
  const { typed, setTyped, find, cursors, turn } = turned
  const [chosen, choose] = useState<string | null>(null)
  const [asking, setAsking] = useState<{ readonly wish: Wish; readonly host: Host } | null>(null)
  const query = queryOf({ limit: pageRows, cursor: cursors.at(-1) ?? null, state, find })
  const loaded = useFollowed(query, (signal) => get<HostPage>(`${base}/hosts${query}`, signal))
  /** The previous page stays until the next is loaded, so that filters and page buttons do not move. */
  const known = useRef<HostPage | null>(null)
  known.current = loaded.value ?? known.current
  const { states = {}, isFleet = false, matching = 0 } = known.current ?? {}
  return (
    <>
      <h1>Hosts</h1>
      <p class="lead">The machines that carry Sandboxes, as seen by the services.</p>
      {isFleet ? (
        <div class="filters">
          <Select
            label="State"
            name="state"
            value={state}
            onChoice={(one) => {
              setState(one)
              turn([])
            }}
            options={[
              ["", "any but removed"],
              ...hostKind.chart.states.map(({ name }) => [name, `${name} (${count(states[name] ?? 0)})`] as const)
            ]}
          />
          <Field label="Find" type="search" value={typed} onText={setTyped} placeholder="Label or id" />
          <span class="found" role="status">
            {matching === 1 ? "1 host" : `${count(matching)} hosts`}
          </span>
        </div>
      ) : null}
      <Pane title="Hosts of the fleet" loaded={loaded} age={<Live feed={feedOf(loaded)} at={loaded.at} />}>
        {(page) =>
          page.hosts.length === 0 ? (
            <p class="empty">{none(page, state !== "" || find !== "")}</p>
          ) : (
            <HostTable
              hosts={page.hosts}
              chosen={chosen}
              choose={choose}
              ask={(wish, host) => setAsking({ wish, host })}
            />
          )
        }
      </Pane>
      <Pages what="hosts" turned={turned} rows={pageRows} all={matching} next={loaded.value?.nextCursor ?? null} />
      {chosen === null ? null : <HostLife hostId={chosen} />}
      {asking === null ? null : (
        <AskHost
          wish={asking.wish}
          host={loaded.value?.hosts.find(({ id }) => id === asking.host.id) ?? asking.host}
          close={() => {
            setAsking(null)
            loaded.reload()
          }}
        />
      )}
    </>
  )
}
