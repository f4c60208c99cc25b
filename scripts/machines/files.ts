/** What stands below `docs/machines/`: each machine of `machines/` as JSON, Mermaid and SVG. */
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
