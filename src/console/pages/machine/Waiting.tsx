import { Instant } from "../ui/Instant.tsx"
import type { Deadlines } from "./simulate.ts"

/** The pending deadlines at a moment, with their events and times. */
export const Waiting = ({ deadlines }: { deadlines: Deadlines }) => {
  const waiting = Object.entries(deadlines)
  return waiting.length === 0 ? (
    <p class="soft">No pending deadlines.</p>
  ) : (
    <div>
      <p class="asks">Pending deadlines</p>
      <ul class="commands" aria-label="Deadlines">
        {waiting.map(([name, { at, event }]) => (
          <li key={name}>
            <code class="command">{name}</code> at <Instant at={new Date(at).toISOString()} />:{" "}
            <code class="soft break">{JSON.stringify(event)}</code>
          </li>
        ))}
      </ul>
    </div>
  )
}
