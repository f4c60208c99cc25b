/** The lines of a drawing: one for all transitions between the same two states. */
import type { ChartTransition, Command, Description, DrawnEdge, DrawnLine } from "./Statechart.ts"

export const commandText = ({ name, deadline }: Command): string => (deadline === null ? name : `${name} ${deadline}`)

/** `EVENT [guard] / command`, as UML writes it. */
export const lineText = ({ event, guard, commands }: Omit<DrawnLine, "transitions">): string =>
  [
    event,
    ...(guard === null ? [] : [`[${guard}]`]),
    ...(commands.length === 0 ? [] : [`/ ${commands.join(", ")}`])
  ].join(" ")

const lineOf = ({ event, guard, commands }: ChartTransition) => ({ event, guard, commands: commands.map(commandText) })

const linesOf = (transitions: ReadonlyArray<ChartTransition>): ReadonlyArray<DrawnLine> => {
  const lines = new Map<string, DrawnLine>()
  for (const transition of transitions) {
    const line = lineOf(transition)
    const text = lineText(line)
    lines.set(text, { ...line, transitions: [...(lines.get(text)?.transitions ?? []), transition.id] })
  }
  return [...lines.values()]
}

/**
 * Edges between states; internal transitions are written in their state. Transitions to one state from every other state are drawn once, from the
 * box for any state: otherwise a machine with many of them would be unreadable.
 */
export const edgesOf = ({
  states,
  transitions
}: Pick<Description, "states" | "transitions">): ReadonlyArray<Omit<DrawnEdge, "points" | "label">> => {
  const leading = transitions.flatMap((transition) =>
    transition.to === null ? [] : [{ ...transition, to: transition.to }]
  )
  const likeness = (transition: (typeof leading)[number]) => `${lineText(lineOf(transition))} ${transition.to}`
  const alike = Map.groupBy(leading, likeness)
  const sourceOf = (transition: (typeof leading)[number]) =>
    new Set(alike.get(likeness(transition))!.map(({ from }) => from)).size === states.length ? null : transition.from
  return [...Map.groupBy(leading, (transition) => `${sourceOf(transition) ?? "*"}>${transition.to}`)].map(
    ([id, group]) => ({ id, from: sourceOf(group[0]!), to: group[0]!.to, lines: linesOf(group) })
  )
}

/** Internal transitions by state. */
export const innerOf = ({
  transitions
}: Pick<Description, "transitions">): ReadonlyMap<string, ReadonlyArray<DrawnLine>> =>
  new Map(
    [
      ...Map.groupBy(
        transitions.filter(({ to }) => to === null),
        ({ from }) => from
      )
    ].map(([state, group]) => [state, linesOf(group)])
  )
