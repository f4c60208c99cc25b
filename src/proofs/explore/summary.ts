/** What an exploration has seen, in lines for a terminal. */
import type { Explored, Progress, Violation } from "./explore.ts"
import { actorPaths, pathDiagram, pathEvents, pathTable, simulatorLink } from "./pathReport.ts"

const number = (value: number) => value.toLocaleString("en-US")
const rate = (states: number, seconds: number) => number(Math.round(states / Math.max(seconds, 0.001)))

/** @param until Seconds that are allowed. */
export const progressLine = (product: string, { states, expanded, edges, depth, seconds }: Progress, until: number) => {
  const left = Math.max(0, until - seconds)
  const waiting = states - expanded
  return `${product}: depth ${depth}, ${number(states)} states (${number(waiting)} wait), ${number(edges)} edges, ${rate(expanded, seconds)} states/s, ends in ${Math.ceil(left)} s at the latest`
}

const ends: Readonly<Record<Explored["end"], string>> = {
  exhausted: "to its end: there are no other states",
  depth: "to the depth that was asked for",
  time: "for the time that it had",
  memory: "for the memory that it had",
  stopped: "until it was stopped",
  violation: "until an invariant was broken"
}

export const summaryLine = ({ product, states, edges, depth, seconds, end, locals, violations }: Explored): string =>
  `${product}: ${number(states)} states, ${number(edges)} edges, every path of ${depth} steps, ${number(locals)} states of single actors, ` +
  `${seconds.toFixed(1)} s (${rate(states, seconds)} states/s), ${ends[end]}; ${violations.length} violations`

/** Which of the machines' transitions the explorations took, all together. */
export const coverageText = (explored: ReadonlyArray<Pick<Explored, "taken" | "declared">>): string => {
  const taken = new Set(explored.flatMap((one) => [...one.taken]))
  const declared = new Set(explored.flatMap((one) => [...one.declared]))
  const left = [...declared].filter((transition) => !taken.has(transition)).sort()
  return [
    `${declared.size - left.length} of the machines' ${declared.size} transitions were taken`,
    ...(left.length === 0 ? [] : [`not taken: ${left.join(", ")}`])
  ].join("\n")
}

/** The path in the simulators of a console; @param hasSimulator Whether the console has one for a kind. */
export const violationLinks = ({ path }: Violation, hasSimulator: (kind: string) => boolean): string =>
  [
    "The path in the console's simulators, after the address of a service:",
    ...actorPaths(path).flatMap((one) => (hasSimulator(one.kind) ? [`${one.actor}: ${simulatorLink(one)}`] : []))
  ].join("\n")

export const violationText = ({ sentence, detail, path, depth }: Violation): string =>
  [
    `Broken after ${depth} steps: ${sentence}`,
    detail,
    "",
    pathTable(path),
    "",
    "```mermaid",
    pathDiagram(path),
    "```",
    "",
    "The events of each actor: the simulator of the console's Machines page takes such a list:",
    ...Object.entries(pathEvents(path)).map(([actor, events]) => `${actor}: ${JSON.stringify(events)}`)
  ].join("\n")
