/** The whole behaviour of a machine as a readable page: for every state and event the outcomes, with what they depend on and what they change. */
import type { AnyStateMachine } from "xstate"
import { type Decisions, type Fact, factOf } from "../../support/machines/decisions.ts"

/** By key, in the order in which they came. */
const grouped = (facts: ReadonlyArray<Fact>, keyOf: (fact: Fact) => string) => {
  const groups = new Map<string, Array<Fact>>()
  for (const fact of facts) {
    const key = keyOf(fact)
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [fact])
    else group.push(fact)
  }
  return groups
}

const alternatives = (facts: ReadonlyArray<Fact>): string => [...new Set(facts.map(({ is }) => is))].sort().join(" or ")

const isChange = (facts: ReadonlyArray<Fact>) => facts.some(({ is }) => is !== "kept")

const outcomeRows = (facts: ReadonlyArray<Fact>) =>
  [...grouped(facts, ({ event, condition }) => `| ${event} | ${condition}`)].map(
    ([row, found]) => `${row} | ${alternatives(found)} |`
  )

const changesOf = (facts: ReadonlyArray<Fact>) =>
  [...grouped(facts, ({ value }) => value!)]
    .filter(([, found]) => isChange(found))
    .map(([value, found]) => `${value} ${alternatives(found)}`)
    .join("; ")

const changeRows = (facts: ReadonlyArray<Fact>) =>
  [...grouped(facts, ({ event, condition, target }) => `| ${event} ${condition} → ${target}`)].flatMap(
    ([row, found]) => {
      const changes = changesOf(found)
      return changes === "" ? [] : [`${row} | ${changes} |`]
    }
  )

const byEvent = (events: ReadonlyArray<string>) => (one: Fact, other: Fact) =>
  events.indexOf(one.event) - events.indexOf(other.event) ||
  (one.condition < other.condition ? -1 : Number(one.condition > other.condition))

const sectionOf = (state: string, machine: AnyStateMachine, facts: ReadonlyArray<Fact>) => {
  const { description, tags, type } = machine.states[state]!
  return [
    `## ${state}`,
    "",
    description ?? "",
    "",
    `Tags: ${[...tags].sort().join(", ") || "none"}.${type === "final" ? " Final." : ""}`,
    "",
    "| event | if | outcome |",
    "| --- | --- | --- |",
    ...outcomeRows(facts.filter(({ value }) => value === null)),
    "",
    "| event and branch | changes |",
    "| --- | --- |",
    ...changeRows(facts.filter(({ value }) => value !== null)),
    ""
  ].join("\n")
}

export const outcomeTable = ({ source, facts: texts }: Decisions): string => {
  const { name, machine, events } = source
  const facts = [...texts].map(factOf).sort(byEvent(events.map(({ type }) => type)))
  const first = facts.filter(({ state }) => state === "")
  return [
    `# What the machine of ${name} says to every event in every state`,
    "",
    "Written by `test/unit/machines/machines.test.ts` (`vitest run test/unit/machines -u`); a change here is a change of behaviour.",
    "",
    "- `if`: all that the guards read. `generation =`: the event names the generation that the context has.",
    "- Commands are in brackets; `1. stopRuntime: generation` is a value of the first one. `STOP 2`: by the second branch of STOP.",
    "- `at`, `seenAt`: fields of the event. `its updatedAt`: the context's, before the event. `kept`: it may also stay as it is.",
    "",
    "## At the beginning",
    "",
    [...new Set(first.filter(({ value }) => value === null).map(({ is }) => is))].join(" or "),
    "",
    changesOf(first.filter(({ value }) => value !== null)),
    "",
    ...Object.keys(machine.states).map((state) =>
      sectionOf(
        state,
        machine,
        facts.filter((fact) => fact.state === state)
      )
    )
  ].join("\n")
}
