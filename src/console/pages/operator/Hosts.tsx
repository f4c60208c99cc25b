/** The hosts of the fleet in their present state, a page at a time. */
import { useEffect, useRef, useState } from "preact/hooks"
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

const pageRows = 50
/** Delay before a typed text is searched for. */
const typedMs = 300

const none = ({ isFleet, states }: HostPage, isFiltered: boolean): string => {
  if (!isFleet) return "This Atoll carries its Sandboxes itself (ATOLL_ROLE=all): this is the only host."
  if (isFiltered) return "No host matches."
  return (states["gone"] ?? 0) === 0
    ? "No host has joined yet. Start one with ATOLL_ROLE=host and ATOLL_FLEET_JOIN."
    : "All hosts were removed."
}

export const Hosts = () => {
  const [state, setState] = useState("")
  const [typed, setTyped] = useState("")
  const [find, setFind] = useState("")
  /** The cursors of this page and the pages before it, except the first. */
  const [cursors, setCursors] = useState<ReadonlyArray<string>>([])
  const [chosen, choose] = useState<string | null>(null)
  const [asking, setAsking] = useState<{ readonly wish: Wish; readonly host: Host } | null>(null)
  useEffect(() => {
    const words = typed.trim()
    if (words === find) return
    const timer = setTimeout(() => {
      setFind(words)
      setCursors([])
    }, typedMs)
    return () => clearTimeout(timer)
  }, [typed, find])
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
              setCursors([])
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
      <Pages
        first={cursors.length * pageRows + 1}
        last={Math.min((cursors.length + 1) * pageRows, matching)}
        all={matching}
        previous={cursors.length === 0 ? null : () => setCursors(cursors.slice(0, -1))}
        next={loaded.value?.nextCursor == null ? null : () => setCursors([...cursors, loaded.value!.nextCursor!])}
      />
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
