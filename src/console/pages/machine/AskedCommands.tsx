import type { Asked } from "./simulate.ts"

/** Deadlines are commands of the machine, which the service keeps with its state. */
export const AskedCommands = ({ commands }: { commands: ReadonlyArray<Asked> }) =>
  commands.length === 0 ? (
    <p class="soft">No commands.</p>
  ) : (
    <div>
      <p class="asks">Commands for the service</p>
      <ul class="commands" aria-label="Commands">
        {commands.map(({ type, params }, index) => (
          <li key={index}>
            <code class="command">{type}</code>{" "}
            {params === null ? null : <code class="soft break">{JSON.stringify(params)}</code>}
          </li>
        ))}
      </ul>
    </div>
  )
