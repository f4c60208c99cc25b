import { commandText } from "../../../statechart/edges.ts"
import type { ChartState, Statechart } from "../../../statechart/Statechart.ts"
import { Prose } from "../statechart/Prose.tsx"
import { Scrolls } from "../ui/Scrolls.tsx"
import { refusalText } from "./refusals.ts"

/** As in the service. */
const unexpected = "UNEXPECTED_EVENT"

const Cell = ({ chart, state, event }: { chart: Statechart; state: ChartState; event: string }) => {
  const taken = chart.transitions.filter(({ from, event: type }) => from === state.name && type === event)
  const refusal = state.refuses[event]
  return (
    <td>
      {taken.map(({ id, guard, to, commands, description }) => (
        <p key={id}>
          {guard === null ? null : <code class="guard">[{guard}] </code>}
          <strong>{to === null ? "stays" : `→ ${to}`}</strong>
          {commands.length === 0 ? null : <code class="command"> / {commands.map(commandText).join(", ")}</code>}
          <span class="soft block">{description}</span>
        </p>
      ))}
      {state.unchanged.includes(event) ? (
        <p class="soft">{taken.length > 0 ? "else " : ""}unchanged</p>
      ) : refusal !== undefined || taken.length === 0 ? (
        <p class="soft">
          {taken.length > 0 ? "else refused: " : "refused: "}
          {refusalText(refusal ?? unexpected)} <code class="block">{refusal ?? unexpected}</code>
        </p>
      ) : null}
    </td>
  )
}

/** The result of every event in every state. */
export const TransitionTable = ({ chart }: { chart: Statechart }) => (
  <Scrolls label="Table of states and events" isHigh>
    <table class="pairs">
      <thead>
        <tr>
          <th scope="col">Event</th>
          {chart.states.map(({ name }) => (
            <th key={name} scope="col">
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {chart.events.map(({ name, description }) => (
          <tr key={name}>
            <th scope="row">
              <code class="event">{name}</code>
              <span class="block soft event-means">
                <Prose text={description} />
              </span>
            </th>
            {chart.states.map((state) => (
              <Cell key={state.name} chart={chart} state={state} event={name} />
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </Scrolls>
)
