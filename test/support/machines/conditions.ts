/**
 * On what a machine's answer to an event depends: what its guards read, found by reading for them. A row of a decision table: `generation =, startedAt null`.
 */
import type { AnyStateMachine } from "xstate"
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"

type Fields = Readonly<Record<string, unknown>>
type Guard = (args: { readonly context: unknown; readonly event: unknown }, params: unknown) => boolean

interface Branch {
  readonly guard?: string | { readonly type: string; readonly params?: unknown }
}

interface Reads {
  readonly context: Set<string>
  readonly event: Set<string>
  /** The number of the branch that is free, from 1 on; 0: none. */
  taken: number
}

/** Reads of an object within are told by their way: `lifetime.stopAfterSeconds`. */
const watched = (fields: Fields, reads: Set<string>, way = ""): Fields =>
  new Proxy(fields, {
    get: (target, field) => {
      const value = target[String(field)]
      reads.add(`${way}${String(field)}`)
      return typeof value === "object" && value !== null && !Array.isArray(value)
        ? watched(value as Fields, reads, `${way}${String(field)}.`)
        : value
    },
    has: (target, field) => {
      reads.add(`${way}${String(field)}`)
      return String(field) in target
    }
  })

const valueAt = (fields: Fields, way: string): unknown =>
  way.split(".").reduce<unknown>((value, field) => (value as Fields | null | undefined)?.[field], fields)

/** What was read within an object says enough of it. */
const isOutermost = (way: string, _: number, ways: ReadonlyArray<string>): boolean =>
  !ways.some((other) => other.startsWith(`${way}.`))

const branchesOf = (machine: AnyStateMachine, state: string, event: string): ReadonlyArray<Branch> => {
  const { states = {} } = machine.config as { readonly states?: Record<string, { readonly on?: Fields }> }
  const listed = states[state]?.on?.[event]
  return listed === undefined ? [] : ([listed].flat() as ReadonlyArray<Branch>)
}

/** As the machine does it: one branch after the other, until one is free. */
const readsOf = (machine: AnyStateMachine, state: string, context: Fields, event: AnyEvent): Reads => {
  const reads: Reads = { context: new Set(), event: new Set(), taken: 0 }
  const seen = { context: watched(context, reads.context), event: watched(event, reads.event) }
  for (const [index, { guard }] of branchesOf(machine, state, event.type).entries()) {
    reads.taken = index + 1
    if (guard === undefined) break
    const { type, params } = typeof guard === "string" ? { type: guard, params: undefined } : guard
    const holds = (machine.implementations.guards as Record<string, Guard>)[type]!
    if (holds(seen, params)) break
    reads.taken = 0
  }
  reads.event.delete("type")
  return reads
}

const described = (field: string, value: unknown): string => {
  if (value === null || value === undefined) return `${field} ${value === null ? "null" : "absent"}`
  if (typeof value === "boolean") return value ? field : `not ${field}`
  if (typeof value === "string") return `${field} ${value}`
  if (typeof value === "number" && !field.endsWith("At")) return `${field} ${value > 1 ? "more" : value}`
  return `${field} set`
}

export interface Condition {
  /** Empty: no guard asks for anything. */
  readonly text: string
  /** The number of the branch that is free, from 1 on; 0: none. */
  readonly branch: number
}

export const conditionOf = (machine: AnyStateMachine, state: string, context: Fields, event: AnyEvent): Condition => {
  const reads = readsOf(machine, state, context, event)
  const fields = event
  const both = [...reads.event].filter((field) => reads.context.has(field) && field in fields)
  const isBoth = (field: string) => both.includes(field)
  const equal = both.map((field) => `${field} ${fields[field] === context[field] ? "=" : "≠"}`)
  const isAsked = (field: string) => !isBoth(field) && field !== "at"
  const ofContext = [...reads.context].filter(isOutermost).filter((field) => !isBoth(field) || context[field] === 1)
  const over = reads.event.has("at") && reads.context.has("expiresAt")
  const text = [
    ...equal,
    ...(over ? [(event["at"] as number) < (context["expiresAt"] as number) ? "in time" : "too late"] : []),
    ...ofContext.filter((field) => field !== "expiresAt").map((field) => described(field, valueAt(context, field))),
    ...[...reads.event].filter(isAsked).map((field) => described(`event's ${field}`, fields[field]))
  ]
    .sort()
    .join(", ")
  return { text, branch: reads.taken }
}
