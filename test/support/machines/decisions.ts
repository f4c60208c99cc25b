/**
 * All that a machine decides, as facts: for every state that it can reach and every event, the outcome, and each value that the outcome changes. Instants are
 * kept apart (`instants.ts`), and answers are told apart by what the guards read (`conditions.ts`).
 */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { begin, decide, restore, store, type Verdict } from "../../../src/engine/Transition.ts"
import type { Deadlines, StoredSnapshot } from "../../../src/store/JournalRecord.ts"
import { type Condition, conditionOf } from "./conditions.ts"
import { apart, deadlinesApart, eventApart, instantsOf, reading } from "./instants.ts"
import type { MachineSource } from "./MachineSource.ts"
import { eventsIn, inputsOf, isBeyond } from "./walk.ts"
import { type Watched, watched } from "./watchedMachine.ts"

type Fields = Readonly<Record<string, unknown>>
type Accepted = Extract<Verdict, { readonly type: "accepted" }>

/** `value`: null for the outcome itself; else what is changed. */
export interface Fact {
  readonly state: string
  readonly event: string
  /** Of an outcome: what its row asks for. Of a value: the number of the branch, where there are several. */
  readonly condition: string
  /** Where it leads; null: nowhere. */
  readonly target: string | null
  readonly value: string | null
  readonly is: string
}

/** A state with its instants apart. Of states that differ in what the machine never reads there is one. */
export interface Place {
  readonly key: string
  readonly stored: StoredSnapshot
  readonly snapshot: AnyMachineSnapshot
  readonly deadlines: Deadlines
  /** The step that found it; null: it is a beginning. */
  readonly from: Decision | null
}

export interface Decision {
  readonly place: Place
  readonly event: AnyEvent
  readonly condition: Condition
  /** Its facts, each as one text. */
  readonly facts: ReadonlyArray<string>
  /** The place that it leads to, or its own. */
  readonly to: string
}

const number = (field: string, value: number, was: unknown): string => {
  if (field === "generation" || field === "edition")
    return value === was ? "its own" : typeof was === "number" ? `its own + ${value - was}` : `${value}`
  return `${value}`
}

/** @param context The one before: numbers are told by it. */
const shown = (field: string, value: unknown, event: AnyEvent, context: Fields): string => {
  if (typeof value === "number") {
    const instants = instantsOf(event, context)
    return (
      (field.endsWith("At") || field === "at" ? reading(value, instants) : null) ?? number(field, value, context[field])
    )
  }
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "absent"
  if (field === "event") {
    return Object.entries(value)
      .map(([inner, one]) => `${inner} ${shown(inner, one, event, context)}`)
      .join(", ")
  }
  return JSON.stringify(value)
}

const same = (one: unknown, other: unknown): boolean => one === other || JSON.stringify(one) === JSON.stringify(other)

/** What an accepted event changes, by name. */
const changesOf = (verdict: Accepted, event: AnyEvent, before: Fields, deadlines: Deadlines) => {
  const context = verdict.snapshot.context as Fields
  const found: Array<readonly [string, string]> = []
  for (const field of new Set([...Object.keys(before), ...Object.keys(context)])) {
    const isKept = same(before[field], context[field])
    found.push([field, isKept ? "kept" : shown(field, context[field], event, before)])
  }
  for (const [index, { type, params }] of verdict.commands.entries()) {
    for (const [field, value] of Object.entries((params ?? {}) as Fields)) {
      found.push([`${index + 1}. ${type}: ${field}`, shown(field, value, event, context)])
    }
  }
  for (const name of new Set([...Object.keys(deadlines), ...Object.keys(verdict.deadlines)])) {
    const [was, is] = [deadlines[name], verdict.deadlines[name]]
    const text =
      is === undefined
        ? "none"
        : same(was, is)
          ? "kept"
          : `${shown("at", is.at, event, { ...before, ...context })}: ${shown("event", is.event, event, context)}`
    found.push([`deadline ${name}`, text])
  }
  return found
}

const outcomeOf = (verdict: Verdict): string => {
  switch (verdict.type) {
    case "unchanged":
      return "unchanged"
    case "refused":
      return `refused ${verdict.code}`
    case "accepted": {
      const commands = verdict.commands.map(({ type }) => type).join(", ")
      return `→ ${verdict.snapshot.value}${commands === "" ? "" : ` (${commands})`}`
    }
  }
}

const separator = "\u0000"
const textOf = ({ state, event, condition, target, value, is }: Fact): string =>
  [state, event, condition, target ?? "", value ?? "", is].join(separator)

export const factOf = (text: string): Fact => {
  const [state, event, condition, target, value, is] = text.split(separator) as [
    string,
    string,
    string,
    string,
    string,
    string
  ]
  return { state, event, condition, target: target || null, value: value || null, is }
}

const factsOf = (verdict: Verdict, { snapshot, deadlines }: Place, event: AnyEvent, condition: Condition) => {
  const pair = { state: snapshot.value as string, event: event.type }
  const row = { ...pair, condition: condition.text, value: null, is: outcomeOf(verdict) }
  if (verdict.type !== "accepted") return [textOf({ ...row, target: null })]
  const target = verdict.snapshot.value as string
  return [
    textOf({ ...row, target }),
    ...changesOf(verdict, event, snapshot.context as Fields, deadlines).map(([value, is]) =>
      textOf({ ...pair, condition: `${condition.branch}`, target, value, is })
    )
  ]
}

/** By these an event is made, or a walk ends. */
const alwaysRead = ["generation", "edition", "boot", "idleStopAt", "expiresAt"]

/** What of a context tells places apart. */
export type ReadFields = ReadonlySet<string>

const keyOf = ({ value, context }: StoredSnapshot, deadlines: Deadlines, read: ReadFields) =>
  JSON.stringify([value, Object.entries(context as Fields).filter(([field]) => read.has(field)), deadlines])

const placeOf = (
  machine: AnyStateMachine,
  { snapshot, deadlines }: Pick<Accepted, "snapshot" | "deadlines">,
  read: ReadFields,
  from: Decision | null
): Place => {
  const stored = apart(store(snapshot))
  const moved = deadlinesApart(deadlines)
  return { key: keyOf(stored, moved, read), stored, snapshot: restore(machine, stored), deadlines: moved, from }
}

/** The same place, of another machine. */
export const placeIn = (machine: AnyStateMachine, place: Place): Place => ({
  ...place,
  snapshot: restore(machine, place.stored)
})

/** The facts of one step, and where it leads. */
export const step = (
  machine: AnyStateMachine,
  place: Place,
  event: AnyEvent,
  condition: Condition,
  read: ReadFields
) => {
  const verdict = decide(machine, place.snapshot, event, 1, place.deadlines)
  const to = verdict.type === "accepted" ? placeOf(machine, verdict, read, null) : place
  return { facts: factsOf(verdict, place, event, condition), to }
}

const first = { state: "", event: "", condition: "" }

/** How a machine begins, by each input. */
export const beginnings = (source: MachineSource, machine: AnyStateMachine, read: ReadFields) =>
  inputsOf(source).map((input) => {
    const { snapshot, commands, deadlines } = begin(machine, input)
    const event: AnyEvent = { type: "", ...(input as object) }
    const accepted: Accepted = { type: "accepted", snapshot, commands, deadlines }
    const target = snapshot.value as string
    const isGiven = (field: string) => field in event && same(event[field], (snapshot.context as Fields)[field])
    const facts = [
      textOf({ ...first, target, value: null, is: outcomeOf(accepted) }),
      ...changesOf(accepted, event, {}, {}).map(([value, is]) =>
        textOf({ ...first, target, value, is: isGiven(value) ? "as given" : is })
      )
    ]
    return { facts, place: placeOf(machine, accepted, read, null) }
  })

/** What a state is, without any event. */
export const standings = (machine: AnyStateMachine): ReadonlyArray<string> =>
  Object.entries(machine.states).map(
    ([state, { tags, type }]) => `${state}: ${type === "final" ? "final; " : ""}${[...tags].sort().join(", ")}`
  )

export interface Decisions {
  readonly source: MachineSource
  readonly read: ReadFields
  readonly beginnings: ReadonlyArray<ReadonlyArray<string>>
  readonly places: ReadonlyMap<string, Place>
  readonly decisions: ReadonlyArray<Decision>
  readonly facts: ReadonlySet<string>
  /** It went on beyond `placesMax`. */
  readonly isEndless: boolean
}

/**
 * Breadth-first, so that the way to each place is a shortest one. A mutant's rows are told apart by the guards of the machine itself.
 *
 * @param machine It, or a mutant of it.
 */
export const walkDecisions = (
  source: MachineSource,
  machine: AnyStateMachine,
  read: ReadFields,
  placesMax = Number.POSITIVE_INFINITY
): Decisions => {
  const places = new Map<string, Place>()
  const facts = new Set<string>()
  const decisions: Array<Decision> = []
  const waiting: Array<Place> = []
  const find = (place: Place, from: Decision | null) => {
    if (places.has(place.key)) return
    const found = { ...place, from }
    places.set(place.key, found)
    waiting.push(found)
  }
  const begun = beginnings(source, machine, read)
  for (const { facts: found, place } of begun) {
    for (const fact of found) facts.add(fact)
    find(place, null)
  }
  for (let at = 0; at < waiting.length && places.size <= placesMax; at++) {
    const place = waiting[at]!
    const { value, context } = place.snapshot
    if (isBeyond(context)) continue
    for (const plain of eventsIn(source, place.snapshot)) {
      const event = eventApart(plain, context as Fields)
      const condition = conditionOf(source.machine, value as string, context as Fields, event)
      const { facts: found, to } = step(machine, place, event, condition, read)
      const decision: Decision = { place, event, condition, facts: found, to: to.key }
      decisions.push(decision)
      for (const fact of found) facts.add(fact)
      find(to, decision)
    }
  }
  const isEndless = places.size > placesMax
  return { source, read, beginnings: begun.map((one) => one.facts), places, decisions, facts, isEndless }
}

/** So many places show nearly all that is read. */
const surveyed = 200

/** A machine's decisions, and what its assignments write. */
export const decisionsOf = (source: MachineSource): Decisions & Pick<Watched, "written"> => {
  const { machine, read, written } = watched(source.machine)
  walkDecisions(source, machine, new Set(), surveyed)
  while (true) {
    const known = new Set([...read, ...alwaysRead])
    const found = walkDecisions(source, machine, known)
    if ([...read].every((field) => known.has(field))) return { ...found, written }
  }
}
