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

/** `overview`: names of states and events only. `detail`: guards, commands, entries and exits, too. */
export type Level = "detail" | "overview"

const lineOf = ({ event, guard, commands }: ChartTransition, level: Level) =>
  level === "overview" ? { event, guard: null, commands: [] } : { event, guard, commands: commands.map(commandText) }

const linesOf = (transitions: ReadonlyArray<ChartTransition>, level: Level): ReadonlyArray<DrawnLine> => {
  const lines = new Map<string, DrawnLine>()
  for (const transition of transitions) {
    const line = lineOf(transition, level)
    const text = lineText(line)
    lines.set(text, { ...line, transitions: [...(lines.get(text)?.transitions ?? []), transition.id] })
  }
  return [...lines.values()]
}

type Charted = Pick<Description, "states" | "transitions">

/** States from which an actor can only end: the final ones, and those that lead to no others. */
const endingOf = ({ states, transitions }: Charted): ReadonlySet<string> => {
  const ending = new Set(states.filter(({ isFinal }) => isFinal).map(({ name }) => name))
  const leadsOn = (name: string) =>
    transitions.some(({ from, to }) => from === name && to !== null && to !== name && !ending.has(to))
  for (let size = -1; size < ending.size; ) {
    size = ending.size
    for (const { name } of states) if (!leadsOn(name)) ending.add(name)
  }
  return ending
}

/** Transitions from fewer states are drawn one by one. */
const leastSources = 3

/**
 * Edges between states; internal transitions are written in their state. Transitions to one state from every other state are drawn once, from the
 * box for any state: otherwise a machine with many of them would be unreadable. The target and states from which an actor can only end need
 * not have the transition.
 */
export const edgesOf = (
  charted: Charted,
  level: Level = "detail"
): ReadonlyArray<Omit<DrawnEdge, "points" | "label">> => {
  const { states, transitions } = charted
  const ending = endingOf(charted)
  const leading = transitions.flatMap((transition) =>
    transition.to === null ? [] : [{ ...transition, to: transition.to }]
  )
  const likeness = (transition: (typeof leading)[number]) => `${lineText(lineOf(transition, level))} ${transition.to}`
  const alike = Map.groupBy(leading, likeness)
  const isFromAny = (transition: (typeof leading)[number]): boolean => {
    const sources = new Set(alike.get(likeness(transition))!.map(({ from }) => from))
    return (
      sources.size >= leastSources &&
      states.every(({ name }) => sources.has(name) || name === transition.to || ending.has(name))
    )
  }
  const sourceOf = (transition: (typeof leading)[number]) => (isFromAny(transition) ? null : transition.from)
  return [...Map.groupBy(leading, (transition) => `${sourceOf(transition) ?? "*"}>${transition.to}`)].map(
    ([id, group]) => ({ id, from: sourceOf(group[0]!), to: group[0]!.to, lines: linesOf(group, level) })
  )
}

/** Internal transitions by state. An overview shows none. */
export const innerOf = (
  { transitions }: Pick<Description, "transitions">,
  level: Level = "detail"
): ReadonlyMap<string, ReadonlyArray<DrawnLine>> =>
  new Map(
    [
      ...Map.groupBy(
        transitions.filter(({ to }) => to === null && level === "detail"),
        ({ from }) => from
      )
    ].map(([state, group]) => [state, linesOf(group, level)])
  )
