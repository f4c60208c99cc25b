/** What stands below `docs/machines/`: each machine of `machines/` as JSON, Mermaid and SVG; and the tags of all, for browsers. */
import { join } from "node:path"
import { describe } from "../../src/statechart/describe.ts"
import { layOut } from "../../src/statechart/layout/layout.ts"
import { mermaidOf } from "../../src/statechart/mermaid.ts"
import type { Statechart } from "../../src/statechart/Statechart.ts"
import { svgOf } from "../../src/statechart/svg.ts"
import { machineSources } from "../../test/support/machines/MachineSource.ts"
import { implementationDocs } from "./machineDocs.ts"

const machines = join(import.meta.dirname, "../../machines")

export const statecharts: ReadonlyArray<Statechart> = await Promise.all(
  machineSources.map(async ({ name, machine, events }) => {
    const description = describe(machine, {
      events: events.map(({ type, doc }) => ({ name: type, description: doc })),
      implementations: implementationDocs([join(machines, "expiry.ts"), join(machines, `${name}.ts`)])
    })
    return {
      ...description,
      drawing: await layOut(description, "detail"),
      overview: await layOut(description, "overview")
    }
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

/** The tags that pages ask for (`src/console/pages/states.ts`), by kind: a browser loads no others. */
const tagsOfPages: Readonly<Record<string, ReadonlyArray<string>>> = {
  connectionGrant: ["over"],
  host: ["removed"],
  image: ["moving"],
  operation: ["open", "terminal", "waiting", "withdrawn"],
  preview: ["open", "over"],
  sandbox: ["asleep", "capturable", "gone", "inhabited", "removed", "startable", "up", "volumeless"],
  serviceAccess: ["over"],
  snapshot: ["bootable", "gone"],
  wallet: ["unlimited"]
}

/** Tag and its states, a line each. */
const tagsOf = ({ kind, states }: Statechart): string =>
  (tagsOfPages[kind] ?? [])
    .map((tag) => {
      const tagged = states.filter((state) => state.tags.includes(tag)).map(({ name }) => `"${name}"`)
      return `    "${tag}": [${tagged.join(", ")}]`
    })
    .join(",\n")

/** `src/statechart/tags.json`: kind, tag, states. A tag that no state has is an empty list. */
export const tagsFile = `{\n${statecharts.map((chart) => `  "${chart.kind}": {\n${tagsOf(chart)}\n  }`).join(",\n")}\n}\n`
