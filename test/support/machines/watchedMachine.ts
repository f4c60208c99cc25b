/** A machine that tells which fields of its context decide something, and which each of its assignments writes. Its decisions are the same. */
import { type AnyStateMachine, assign, createMachine } from "xstate"

type Fields = Record<string, unknown>
type Called = (args: never, params?: never) => unknown

export interface Watched {
  readonly machine: AnyStateMachine
  /** Of the context: read by a guard, an assignment, or the values of a command. */
  readonly read: ReadonlySet<string>
  /** By the name of the assignment. */
  readonly written: ReadonlyMap<string, ReadonlySet<string>>
}

/** What a named assignment writes, as a function; null: it is none. */
export const writesOf = (action: unknown): ((args: unknown, params: unknown) => Fields) | null => {
  const { type, assignment } = action as { readonly type?: string; readonly assignment?: unknown }
  if (type !== "xstate.assign" || assignment === undefined) return null
  if (typeof assignment === "function") return assignment as (args: unknown, params: unknown) => Fields
  return (args, params) =>
    Object.fromEntries(
      Object.entries(assignment as Fields).map(([field, value]) => [
        field,
        typeof value === "function" ? value(args, params) : value
      ])
    )
}

/** @param change What it writes instead. */
export const assigned = (writes: (args: unknown, params: unknown) => Fields, change: (fields: Fields) => Fields) =>
  assign(((args: unknown, params: unknown) => change(writes(args, params))) as never)

const watching =
  (read: Set<string>) =>
  (called: unknown) =>
  (args: { readonly context: Fields }, params: unknown): unknown => {
    const context = new Proxy(args.context, {
      get: (target, field) => {
        read.add(String(field))
        return target[String(field)]
      }
    })
    return (called as Called)({ ...args, context } as never, params as never)
  }

/** Every function of the configuration but the one that makes the first context. */
const withWatch = (value: unknown, watch: (called: unknown) => unknown): unknown => {
  if (typeof value === "function") return watch(value)
  if (Array.isArray(value)) return value.map((one) => withWatch(one, watch))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, withWatch(inner, watch)]))
}

export const watched = (machine: AnyStateMachine): Watched => {
  const read = new Set<string>()
  const written = new Map<string, Set<string>>()
  const watch = watching(read)
  const config = machine.config as unknown as Fields
  const { guards, actions } = machine.implementations as unknown as Readonly<Record<string, Fields>>
  const told = Object.entries(actions!).map(([name, action]) => {
    const writes = writesOf(action)
    if (writes === null) return [name, action]
    const fields = new Set<string>()
    written.set(name, fields)
    return [
      name,
      assigned(watch(writes) as typeof writes, (found) => {
        for (const field in found) fields.add(field)
        return found
      })
    ]
  })
  const copy = createMachine(
    { ...config, states: withWatch(config["states"], watch) } as never,
    {
      ...machine.implementations,
      guards: Object.fromEntries(Object.entries(guards!).map(([name, guard]) => [name, watch(guard)])),
      actions: Object.fromEntries(told)
    } as never
  )
  return { machine: copy, read, written }
}
