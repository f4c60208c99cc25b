/** The description of a state or an edge of a diagram. */
import { commandText } from "../../../statechart/edges.ts"
import { anyStateText } from "../../../statechart/rows.ts"
import type { ChartTransition, Command, DrawnEdge, Named, Statechart } from "../../../statechart/Statechart.ts"
import { refusalText } from "../machine/refusals.ts"
import { Prose } from "./Prose.tsx"

export type Thing =
  | { readonly type: "state"; readonly name: string }
  | { readonly type: "edge"; readonly edge: DrawnEdge }

const descriptionOf = (named: ReadonlyArray<Named>, name: string): string =>
  named.find((one) => one.name === name)?.description ?? ""

const CommandItem = ({ chart, command, when }: { chart: Statechart; command: Command; when: string }) => (
  <li>
    {when} <code class="command">{commandText(command)}</code>{" "}
    <span class="soft">
      <Prose text={descriptionOf(chart.commands, command.name)} />
    </span>
  </li>
)

/** `is low` is the guard `is` with a parameter. */
const guardText = (chart: Statechart, guard: string) => descriptionOf(chart.guards, guard.split(" ", 1)[0]!)

const TransitionItem = ({ chart, transition }: { chart: Statechart; transition: ChartTransition }) => (
  <li>
    <code class="event">{transition.event}</code>{" "}
    {transition.guard === null ? null : <code class="guard">[{transition.guard}]</code>} {transition.description}
    <ul>
      <li class="soft">
        <Prose text={descriptionOf(chart.events, transition.event)} />
      </li>
      {transition.guard === null ? null : (
        <li>
          only if <code class="guard">{transition.guard}</code>{" "}
          <span class="soft">
            <Prose text={guardText(chart, transition.guard)} />
          </span>
        </li>
      )}
      {transition.commands.map((command) => (
        <CommandItem key={commandText(command)} chart={chart} command={command} when="asks for" />
      ))}
    </ul>
  </li>
)

const OfState = ({ chart, name }: { chart: Statechart; name: string }) => {
  const state = chart.states.find((one) => one.name === name)!
  const stays = chart.transitions.filter(({ from, to }) => from === name && to === null)
  const refusals = Map.groupBy(Object.entries(state.refuses), ([, code]) => code)
  return (
    <>
      <h3>{name}</h3>
      <p>{state.description}</p>
      {state.entry.length + state.exit.length + stays.length === 0 ? null : (
        <ul>
          {state.entry.map((command) => (
            <CommandItem key={commandText(command)} chart={chart} command={command} when="on entry" />
          ))}
          {state.exit.map((command) => (
            <CommandItem key={commandText(command)} chart={chart} command={command} when="on exit" />
          ))}
          {stays.map((transition) => (
            <TransitionItem key={transition.id} chart={chart} transition={transition} />
          ))}
        </ul>
      )}
      {state.unchanged.length === 0 ? null : (
        <p class="soft">
          Stays unchanged by <code>{state.unchanged.join(", ")}</code>
        </p>
      )}
      {[...refusals].map(([code, events]) => (
        <p key={code} class="soft">
          Refuses <code class="break">{events.map(([event]) => event).join(", ")}</code>: {refusalText(code)}{" "}
          <code>{code}</code>
        </p>
      ))}
    </>
  )
}

const OfEdge = ({ chart, edge }: { chart: Statechart; edge: DrawnEdge }) => {
  const transitions = edge.lines.flatMap((line) => {
    const found = chart.transitions.filter(({ id }) => line.transitions.includes(id))
    // A transition from any state is listed once.
    return edge.from === null ? found.slice(0, 1) : found
  })
  return (
    <>
      <h3>
        {edge.from ?? anyStateText} → {edge.to}
      </h3>
      <ul>
        {transitions.map((transition) => (
          <TransitionItem key={transition.id} chart={chart} transition={transition} />
        ))}
      </ul>
    </>
  )
}

export const About = ({ chart, thing }: { chart: Statechart; thing: Thing | null }) =>
  thing === null ? (
    <p class="soft">
      {chart.description} Point at a state or an arrow, or go to it with the Tab key, to read about it.
    </p>
  ) : thing.type === "state" ? (
    <OfState chart={chart} name={thing.name} />
  ) : (
    <OfEdge chart={chart} edge={thing.edge} />
  )
