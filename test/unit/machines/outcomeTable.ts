/** The whole behaviour of a machine as a readable page: for every state and event, each different outcome once. */
import type { Verdict } from "../../../src/engine/Transition.ts"
import type { MachineSource } from "../../support/machines/MachineSource.ts"
import type { Reached, Step } from "../../support/machines/walk.ts"
import { deadlineSources } from "./deadlineSources.ts"

const commandsOf = (
  verdict: Extract<Verdict, { readonly type: "accepted" }>,
  sources: ReadonlyMap<string, ReadonlyArray<string>>
) => [
  ...verdict.commands.map(({ type }) => type),
  ...Object.keys(verdict.deadlines)
    .sort()
    .map((name) => {
      const from = sources.get(name) ?? []
      return from.length === 0 ? `deadline ${name}` : `deadline ${name} ← ${from.join(" + ")}`
    })
]

const outcomeOf = (source: MachineSource, step: Step) => {
  const { verdict } = step
  switch (verdict.type) {
    case "unchanged":
      return "unchanged"
    case "refused":
      return `refused ${verdict.code}`
    case "accepted": {
      const commands = commandsOf(verdict, deadlineSources(source, step))
      return `→ ${verdict.snapshot.value}${commands.length === 0 ? "" : ` (${commands.join(", ")})`}`
    }
  }
}

export const outcomeTable = (source: MachineSource, reached: ReadonlyMap<string, Reached>): string => {
  const { name, machine, events } = source
  const outcomes = new Map<string, Set<string>>()
  for (const { snapshot, steps } of reached.values()) {
    for (const step of steps) {
      const pair = `${snapshot.value} ${step.event.type}`
      outcomes.set(pair, (outcomes.get(pair) ?? new Set()).add(outcomeOf(source, step)))
    }
  }
  const sections = Object.entries(machine.states).map(([state, { description }]) =>
    [
      `## ${state}`,
      "",
      description ?? "",
      "",
      "| event | outcomes |",
      "| --- | --- |",
      ...events.map(
        ({ type: event }) => `| ${event} | ${[...(outcomes.get(`${state} ${event}`) ?? [])].sort().join("; ")} |`
      ),
      ""
    ].join("\n")
  )
  return [
    `# What the machine of ${name} says to every event in every state`,
    "",
    "Written by `test/unit/machines/machines.test.ts` (`vitest run test/unit/machines -u`); a change here is a change of behaviour.",
    "`deadline d` stands where it stood; `deadline d ← f` is counted from the event's field `f`, or from what the `context` keeps of earlier events.",
    "",
    ...sections
  ].join("\n")
}
