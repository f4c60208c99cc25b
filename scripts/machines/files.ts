/** What stands below `docs/machines/`: each machine of `machines/` as JSON, Mermaid and SVG, and the tags of all. */
import { join } from "node:path"
import { describe } from "../../src/statechart/describe.ts"
import { mermaidOf } from "../../src/statechart/mermaid.ts"
import type { Statechart } from "../../src/statechart/Statechart.ts"
import { svgOf } from "../../src/statechart/svg.ts"
import { machineSources } from "../../test/support/machines/MachineSource.ts"
import { layOut } from "./layout.ts"
import { implementationDocs } from "./machineDocs.ts"

const machines = join(import.meta.dirname, "../../machines")

export const statecharts: ReadonlyArray<Statechart> = await Promise.all(
  machineSources.map(async ({ name, machine, events }) => {
    const description = describe(machine, {
      events: events.map(({ type, doc }) => ({ name: type, description: doc })),
      implementations: implementationDocs([join(machines, "expiry.ts"), join(machines, `${name}.ts`)])
    })
    return { ...description, drawing: await layOut(description) }
  })
)

/** Kind, tag, states: for a browser, which loads a machine only where it is drawn. */
const tagsOf = ({ states }: Statechart): Readonly<Record<string, ReadonlyArray<string>>> => {
  const tags = [...new Set(states.flatMap((state) => state.tags))].toSorted()
  return Object.fromEntries(
    tags.map((tag) => [tag, states.filter((state) => state.tags.includes(tag)).map(({ name }) => name)])
  )
}

const allTags = Object.fromEntries(statecharts.map((chart) => [chart.kind, tagsOf(chart)]))

/** Content by file name. */
export const machineFiles: ReadonlyMap<string, string> = new Map([
  ["tags.json", `${JSON.stringify(allTags, null, 2)}\n`],
  ...statecharts.flatMap(
    (chart): ReadonlyArray<readonly [string, string]> => [
      [`${chart.kind}.json`, `${JSON.stringify(chart, null, 2)}\n`],
      [`${chart.kind}.mmd`, mermaidOf(chart)],
      [`${chart.kind}.svg`, svgOf(chart)]
    ]
  )
])
