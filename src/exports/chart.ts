/** `atoll/chart`: a machine as data, as Mermaid and as SVG. */
export { describe, type MachineDocs } from "../statechart/describe.ts"
export { layOut } from "../statechart/layout/layout.ts"
export { mermaidOf } from "../statechart/mermaid.ts"
export type { Statechart } from "../statechart/Statechart.ts"
export { svgOf } from "../statechart/svg.ts"
