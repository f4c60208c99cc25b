import { Instant } from "../ui/Instant.tsx"
import type { Deadlines } from "./simulate.ts"

/** The deadlines that wait at a moment: what will come by itself, and when. */
export const Waiting = ({ deadlines }: { deadlines: Deadlines }) => {
  const waiting = Object.entries(deadlines)
  return waiting.length === 0 ? (
    <p class="soft">No deadline waits.</p>
  ) : (
    <div>
      <p class="asks">Deadlines that wait</p>
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
