/** A machine with a fault: a copy whose configuration or guards differ; the machine's file stays as it is. */
import { type AnyStateMachine, createMachine } from "xstate"

/** The configuration of a state: what a fault may change. */
export interface StateConfig {
  entry?: Array<unknown>
  exit?: Array<unknown>
  tags?: Array<unknown>
  on: Record<string, unknown>
}

interface Faulty {
  readonly states: Readonly<Record<string, StateConfig>>
  readonly guards: Record<string, unknown>
}

/** Functions are the same in the copy. */
const copied = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(copied)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, copied(inner)]))
}

const withOn = (state: unknown): StateConfig => ({ on: {}, ...(state as object) })

export const planted = (machine: AnyStateMachine, plant: (faulty: Faulty) => void): AnyStateMachine => {
  const config = copied(machine.config) as { states: Record<string, StateConfig> }
  config.states = Object.fromEntries(Object.entries(config.states).map(([name, state]) => [name, withOn(state)]))
  const guards = { ...(machine.implementations.guards as Record<string, unknown>) }
  plant({ states: config.states, guards })
  return createMachine(config as never, { ...machine.implementations, guards } as never)
}

const nameOf = (action: unknown): unknown =>
  typeof action === "string" ? action : (action as { readonly type?: unknown }).type

export const without = (actions: ReadonlyArray<unknown> | undefined, name: string): Array<unknown> => {
  const left = (actions ?? []).filter((action) => nameOf(action) !== name)
  if (left.length === (actions ?? []).length) throw new Error(`There is no action ${name} to leave out.`)
  return left
}

export const withoutEvent = (state: StateConfig, event: string): void => {
  if (!(event in state.on)) throw new Error(`There is no transition of ${event} to leave out.`)
  delete state.on[event]
}
