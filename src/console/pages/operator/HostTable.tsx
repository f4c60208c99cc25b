/** A row for each host: its state, and its reserved resources. */
import type { Host } from "../../../../schemas/console/Hosts.ts"
import { oneLine } from "../characterPicture.ts"
import { count, size } from "../format.ts"
import { Instant } from "../ui/Instant.tsx"
import { Table } from "../ui/Table.tsx"
import { type Wish, wishesFor, wishNames } from "./AskHost.tsx"
import { labelOf, remarksOf, seenOf } from "./hostTexts.ts"
import { Room } from "./Room.tsx"

interface Shown {
  readonly hosts: ReadonlyArray<Host>
  /** Id of the host whose machine is shown. */
  readonly chosen: string | null
  readonly choose: (hostId: string | null) => void
  readonly ask: (wish: Wish, host: Host) => void
}

const columns = ["Host", "State", "Seen", "Sandboxes", "vCPUs", "Memory", "Disk", "Version", "Actions"]

const Row = ({ host, chosen, choose, ask }: Omit<Shown, "hosts"> & { readonly host: Host }) => {
  const { id, state, since, sandboxes, promised, capacity } = host
  const label = labelOf(host)
  const isChosen = chosen === id
  return (
    <tr data-host={id}>
      <td>
        <strong class="break">{label}</strong>
        <code class="soft block">{id}</code>
      </td>
      <td>
        <span class={`status ${state}`}>{state}</span>
        <span class="soft block">
          since <Instant at={since} />
        </span>
        {remarksOf(host).map((remark) => (
          <span key={remark} class="block break remark">
            {remark}
          </span>
        ))}
      </td>
      <td>{seenOf(host)}</td>
      <td>
        {count(sandboxes.up)} up of {count(sandboxes.all)}
      </td>
      <td>
        <Room label={`vCPUs reserved on ${label}`} promised={promised.vcpus} all={capacity.vcpus} shown={count} />
      </td>
      <td>
        <Room
          label={`Memory reserved on ${label}`}
          promised={promised.memoryBytes}
          all={capacity.memoryBytes}
          shown={size}
        />
      </td>
      <td>
        <Room label={`Disk reserved on ${label}`} promised={promised.diskBytes} all={capacity.diskBytes} shown={size} />
      </td>
      <td>
        <span class="break">{oneLine(host.version)}</span>
        <span class="soft block">{host.kind}</span>
      </td>
      <td>
        <span class="actions">
          <button
            type="button"
            class="button small"
            aria-expanded={isChosen}
            aria-label={`Machine of ${label}`}
            onClick={() => choose(isChosen ? null : id)}
          >
            Machine
          </button>
          {wishesFor(host).map((wish) => (
            <button
              key={wish}
              type="button"
              class="button small"
              aria-label={`${wishNames[wish]} ${label}`}
              onClick={() => ask(wish, host)}
            >
              {wishNames[wish]}
            </button>
          ))}
        </span>
      </td>
    </tr>
  )
}

export const HostTable = ({ hosts, ...rest }: Shown) => (
  <Table label="Hosts" columns={columns} class="hosts">
    {hosts.map((host) => (
      <Row key={host.id} host={host} {...rest} />
    ))}
  </Table>
)
