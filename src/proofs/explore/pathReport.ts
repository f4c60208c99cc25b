/** A path through a product for people: as a table, as a Mermaid sequence diagram, and as the events of each actor. */
import type { AnyEvent } from "../../engine/ActorDefinition.ts"
import { NOW } from "./canonical.ts"
import type { PathStep } from "./explore.ts"
import type { Delivery } from "./Product.ts"

/** Between two steps in what is replayed. */
const stepMs = 1_000

const verdictOf = ({ to, event, verdict, code, from, state, asked }: Delivery): string => {
  const asks = asked.length === 0 ? "" : ` (${asked.join(", ")})`
  switch (verdict) {
    case "made":
      return `${to} is made: ${state}${asks}`
    case "removed":
      return `${to} is removed`
    case "accepted":
      return `${to} ${event.type}: ${from} → ${state}${asks}`
    case "unchanged":
      return `${to} ${event.type}: unchanged in ${from}`
    case "refused":
      return `${to} ${event.type}: refused in ${from}, ${code}`
  }
}

/** A table in Markdown. */
export const pathTable = (path: ReadonlyArray<PathStep>): string =>
  [
    "| step | who | what | then |",
    "| ---: | --- | --- | --- |",
    ...path.flatMap(({ step }, index) =>
      step === null
        ? []
        : [`| ${index} | ${step.by} | ${step.label} | ${step.deliveries.map(verdictOf).join("; ") || "—"} |`]
    )
  ].join("\n")

/** Mermaid reads a semicolon or a hash as its own. */
const plain = (text: string) => text.replaceAll(/[;#]/g, ",")

export const pathDiagram = (path: ReadonlyArray<PathStep>): string => {
  const steps = path.flatMap(({ step }) => step ?? [])
  const actors = [...new Set(steps.flatMap(({ deliveries }) => deliveries.map(({ to }) => to)))]
  const by = [...new Set(steps.map((step) => step.by))]
  return [
    "sequenceDiagram",
    ...by.map((who) => `  actor ${who}`),
    ...actors.map((actor) => `  participant ${actor}`),
    ...steps.flatMap(({ by: who, label, deliveries }) => [
      `  Note over ${who}: ${plain(label)}`,
      ...deliveries.flatMap(({ to, event, verdict, from, state, code }) => [
        `  ${who}->>${to}: ${plain(event.type)}`,
        `  Note over ${to}: ${verdict === "accepted" || verdict === "made" ? `${from ?? "—"} → ${state}` : plain(`${verdict} ${code ?? ""}`)}`
      ])
    ])
  ].join("\n")
}

/** What each actor was sent, as the simulator of the console's Machines page takes it; a second passes between two steps. */
export const pathEvents = (path: ReadonlyArray<PathStep>): Readonly<Record<string, ReadonlyArray<AnyEvent>>> => {
  const found: Record<string, Array<AnyEvent>> = {}
  for (const [index, { step }] of path.entries()) {
    for (const { to, event, verdict } of step?.deliveries ?? []) {
      if (verdict === "made" || verdict === "removed") continue
      found[to] = [...(found[to] ?? []), { ...event, at: NOW + index * stepMs }]
    }
  }
  return found
}

/** A step of a path in the life of one actor. */
export interface ActorMoment {
  readonly by: string
  readonly label: string
  /** The actor before the step; null: the step made it. */
  readonly before: { readonly value: string; readonly context: Readonly<Record<string, unknown>> } | null
  /** What it was sent, and what the explored machine made of each event. */
  readonly sent: ReadonlyArray<{ readonly event: AnyEvent; readonly verdict: string; readonly state: string | null }>
}

export interface ActorPath {
  readonly actor: string
  readonly kind: string
  readonly moments: ReadonlyArray<ActorMoment>
}

/**
 * A path as each of its actors lived it. Each moment has the state in which it began: instants in an explored state are not those that a machine would have
 * counted, so a fold of the events alone would be another life.
 */
export const actorPaths = (path: ReadonlyArray<PathStep>): ReadonlyArray<ActorPath> => {
  const kinds = new Map(path.flatMap(({ actors }) => actors.map(({ name, kind }) => [name, kind] as const)))
  return [...kinds].flatMap(([actor, kind]) => {
    const moments = path.flatMap(({ step }, index): ReadonlyArray<ActorMoment> => {
      const sent = (step?.deliveries ?? []).flatMap(({ to, event, verdict, state }) =>
        to !== actor || verdict === "made" || verdict === "removed"
          ? []
          : [{ event: { ...event, at: NOW + index * stepMs }, verdict, state }]
      )
      if (step === null || sent.length === 0) return []
      const found = path[index - 1]!.actors.find(({ name }) => name === actor)
      const before = found === undefined ? null : { value: found.value, context: found.context }
      return [{ by: step.by, label: step.label, before, sent }]
    })
    return moments.length === 0 ? [] : [{ actor, kind, moments }]
  })
}

/** Where the console shows it, after the address of a service. The path is in the fragment: no server is sent it. */
export const simulatorLink = (path: ActorPath): string =>
  `/console/machines/${path.kind}#path=${Buffer.from(JSON.stringify(path)).toString("base64url")}`
