/** The whole behaviour of a machine as a page to read: for every state and event, each different outcome once. */
import type { Verdict } from "../../src/actor/Transition.ts"
import type { MachineSource } from "./MachineSource.ts"
import type { Reached } from "./walk.ts"

const commandsOf = (verdict: Extract<Verdict, { readonly type: "accepted" }>) => [
  ...verdict.commands.map(({ type }) => type),
  ...Object.keys(verdict.deadlines)
    .sort()
    .map((name) => `deadline ${name}`)
]

const outcomeOf = (verdict: Verdict) => {
  switch (verdict.type) {
    case "unchanged":
      return "unchanged"
    case "refused":
      return `refused ${verdict.code}`
    case "accepted": {
      const commands = commandsOf(verdict)
      return `→ ${verdict.snapshot.value}${commands.length === 0 ? "" : ` (${commands.join(", ")})`}`
    }
  }
}

export const outcomeTable = (
  { name, machine, events }: MachineSource,
  reached: ReadonlyMap<string, Reached>
): string => {
  const outcomes = new Map<string, Set<string>>()
  for (const { snapshot, steps } of reached.values()) {
    for (const { event, verdict } of steps) {
      const pair = `${snapshot.value} ${event.type}`
      outcomes.set(pair, (outcomes.get(pair) ?? new Set()).add(outcomeOf(verdict)))
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
    "Written by `test/machines/machines.test.ts` (`vitest run test/machines -u`); a change here is a change of behaviour.",
    "",
    ...sections
  ].join("\n")
}
