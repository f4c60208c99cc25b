/** What stands below `docs/machines/`: each machine of `machines/` as JSON, Mermaid and SVG; and the tags of all, for browsers. */
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

/** Content by file name. */
export const machineFiles: ReadonlyMap<string, string> = new Map(
  statecharts.flatMap((chart) => [
    [`${chart.kind}.json`, `${JSON.stringify(chart, null, 2)}\n`],
    [`${chart.kind}.mmd`, mermaidOf(chart)],
    [`${chart.kind}.svg`, svgOf(chart)]
  ])
)

/** Tag and its states, a line each. */
const tagsOf = ({ states }: Statechart): string =>
  [...new Set(states.flatMap((state) => state.tags))]
    .toSorted()
    .map((tag) => {
      const tagged = states.filter((state) => state.tags.includes(tag)).map(({ name }) => `"${name}"`)
      return `    "${tag}": [${tagged.join(", ")}]`
    })
    .join(",\n")

/** `src/statechart/tags.json`: kind, tag, states. */
export const tagsFile = `{\n${statecharts.map((chart) => `  "${chart.kind}": {\n${tagsOf(chart)}\n  }`).join(",\n")}\n}\n`
