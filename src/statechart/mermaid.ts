/** Writes a machine as Mermaid's `stateDiagram-v2`, which GitHub and many editors draw. */
import { edgesOf, innerOf, lineText } from "./edges.ts"
import type { Description, DrawnLine } from "./Statechart.ts"

/** Mermaid ends a statement at a semicolon. */
const plain = (text: string): string => text.replaceAll(";", ",")

const labelOf = (lines: ReadonlyArray<DrawnLine>): string => lines.map((line) => plain(lineText(line))).join("<br/>")

const anyState = "any_state"

export const mermaidOf = (description: Description): string => {
  const edges = edgesOf(description)
  return [
    "---",
    `title: ${description.kind}`,
    "---",
    "stateDiagram-v2",
    `  %% ${plain(description.description)}`,
    `  [*] --> ${description.initial}`,
    ...(edges.some(({ from }) => from === null) ? [`  state "any state" as ${anyState}`] : []),
    ...edges.map(({ from, to, lines }) => `  ${from ?? anyState} --> ${to}: ${labelOf(lines)}`),
    ...[...innerOf(description)].map(([state, lines]) => `  ${state} --> ${state}: ${labelOf(lines)}`),
    ...description.states.filter(({ isFinal }) => isFinal).map(({ name }) => `  ${name} --> [*]`),
    ""
  ].join("\n")
}
