/**
 * One form for all states that nothing can tell apart.
 *
 * Instants: everything happens NOW. An instant has passed, or it has not; which of those that have not comes next is left open, so every order of
 * them is explored, for any durations. Of one actor, the order of the instants to come is kept, and whether two of its deadlines, commands and
 * fields have the same instant. How long ago something was is forgotten.
 *
 * Counters (a generation, an edition): 1 stays 1, and the others are renumbered from 2 in their order, over the whole product.
 */
import type { AnyEvent } from "../../engine/ActorDefinition.ts"
import type { Pending } from "./Product.ts"

/** Epoch milliseconds. */
export const NOW = 1_700_000_000_000
/** Numbers from here on are instants. */
const instantsFrom = 1e12
/** Between two instants to come. */
const apartMs = 3_600_000
/** Before NOW: an instant that nothing but a context has, and the first of those that others have. */
const longAgoMs = 2_000
const agoMs = 1_000

/** A local state of an actor: JSON. */
export interface Local {
  readonly kind: string
  readonly value: string
  readonly context: Readonly<Record<string, unknown>>
  readonly commands: ReadonlyArray<Pending>
  readonly deadlines: Readonly<Record<string, { readonly at: number; readonly event: AnyEvent }>>
  readonly late: ReadonlyArray<AnyEvent>
}

/** The same value with other leaves. `key`: the field that has the leaf. */
export const mapLeaves = (value: unknown, leaf: (value: unknown, key: string) => unknown, key = ""): unknown => {
  if (Array.isArray(value)) return value.map((inner) => mapLeaves(inner, leaf, key))
  if (typeof value !== "object" || value === null) return leaf(value, key)
  const copy: Record<string, unknown> = {}
  for (const name in value) copy[name] = mapLeaves((value as Record<string, unknown>)[name], leaf, name)
  return copy
}

const isInstant = (value: unknown): value is number => typeof value === "number" && value >= instantsFrom

const instantsOf = (value: unknown): ReadonlySet<number> => {
  const found = new Set<number>()
  mapLeaves(value, (leaf) => {
    if (isInstant(leaf)) found.add(leaf)
    return leaf
  })
  return found
}

const ascending = (values: Iterable<number>) => [...values].sort((a, b) => a - b)

const withInstants = (local: Local): Local => {
  const { context, commands, deadlines, late } = local
  const outside = instantsOf([commands, deadlines, late])
  const all = new Set([...outside, ...instantsOf(context)])
  const places = new Map<number, number>()
  const coming = ascending(all).filter((at) => at > NOW)
  for (const [index, at] of coming.entries()) places.set(at, NOW + (index + 1) * apartMs)
  const passed = ascending(outside).filter((at) => at <= NOW)
  for (const [index, at] of passed.entries()) places.set(at, NOW - agoMs + index)
  return mapLeaves(local, (leaf) => (isInstant(leaf) ? (places.get(leaf) ?? NOW - longAgoMs) : leaf)) as Local
}

const commandName = ({ type, params, answer }: Pending) =>
  `${type} ${JSON.stringify(params)} ${answer === undefined ? "" : JSON.stringify(answer)}`

/** Commands wait in no order. Two equal ones are one: a command may run more than once anyhow. */
const withCommands = (commands: ReadonlyArray<Pending>): ReadonlyArray<Pending> =>
  [...new Map(commands.map((command) => [commandName(command), command]))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, command]) => command)

export const canonical = (local: Local): Local => {
  const placed = withInstants(local)
  const names = Object.keys(placed.deadlines).sort()
  return {
    ...placed,
    commands: withCommands(placed.commands),
    deadlines: Object.fromEntries(names.map((name) => [name, placed.deadlines[name]!])),
    late: [...new Map(placed.late.map((event) => [JSON.stringify(event), event]))]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, event]) => event)
  }
}

/** Moves an instant of an actor to NOW, wherever the actor has it. */
export const withPassed = (local: Local, passed: number): Local =>
  mapLeaves(local, (leaf) => (leaf === passed ? NOW : leaf)) as Local

/** Whether a context has the instant, too: then guards may see that it has passed before the deadline fires. */
export const isSeenInContext = ({ context }: Local, at: number): boolean => instantsOf(context).has(at)

/** The values of a counter in a part of the product, as bits. */
export const countsOf = (value: unknown, counter: string): number => {
  let bits = 0
  mapLeaves(value, (leaf, key) => {
    if (key === counter && typeof leaf === "number") bits |= 1 << Math.min(leaf, 30)
    return leaf
  })
  return bits
}

/** Whether the values are 1, 2, … without a gap above 1. */
export const isRenumbered = (bits: number): boolean => {
  const above = bits >>> 2
  return (above & (above + 1)) === 0
}

/** The value by which each bit is replaced. */
export const renumbering = (bits: number): ReadonlyMap<number, number> => {
  const places = new Map<number, number>()
  for (let value = 2, next = 2; value < 31; value++) if ((bits & (1 << value)) !== 0) places.set(value, next++)
  return places
}

export const renumbered = <A>(value: A, counter: string, places: ReadonlyMap<number, number>): A =>
  mapLeaves(value, (leaf, key) =>
    key === counter && typeof leaf === "number" ? (places.get(leaf) ?? leaf) : leaf
  ) as A
