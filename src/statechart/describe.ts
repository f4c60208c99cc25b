/** Extracts a machine's configuration, in its written order. */
import type { AnyStateMachine } from "xstate"
import type { StateMeta } from "../../machines/meta.ts"
import type { ChartState, ChartTransition, Command, Description, Named } from "./Statechart.ts"

interface ActionConfig {
  readonly type: string
  readonly params?: unknown
}

interface TransitionConfig {
  readonly target?: string
  readonly guard?: string | ActionConfig
  readonly actions?: Many<string | ActionConfig>
  readonly description?: string
}

interface StateConfig {
  readonly description?: string
  readonly tags?: Many<string>
  readonly meta?: StateMeta
  readonly entry?: Many<string | ActionConfig>
  readonly exit?: Many<string | ActionConfig>
  readonly on?: Readonly<Record<string, string | Many<TransitionConfig>>>
}

interface MachineConfig {
  readonly id: string
  readonly version?: string
  readonly description?: string
  readonly initial: string
  readonly states: Readonly<Record<string, StateConfig>>
}

type Many<A> = A | ReadonlyArray<A>

const listOf = <A>(value: Many<A> | undefined): ReadonlyArray<A> =>
  value === undefined ? [] : Array.isArray(value) ? value : [value as A]

const transitionsOf = (listed: string | Many<TransitionConfig>): ReadonlyArray<TransitionConfig> =>
  typeof listed === "string" ? [{ target: listed }] : listOf<TransitionConfig>(listed)

const typeOf = (action: string | ActionConfig) => (typeof action === "string" ? action : action.type)

/** A deadline's name does not depend on the context. */
const deadlineOf = (action: string | ActionConfig): string | null => {
  if (typeof action === "string" || (action.type !== "schedule" && action.type !== "unschedule")) return null
  const { params } = action
  const { name } = typeof params === "function" ? params({ context: {}, event: {} }) : params
  return name
}

/** `is` with `{ status: "low" }` becomes `is low`. */
const guardOf = (guard: string | ActionConfig | undefined): string | null => {
  if (guard === undefined || typeof guard === "string") return guard ?? null
  return [guard.type, ...Object.values(guard.params ?? {})].join(" ")
}

/** Doc comments of events, guards and commands, by name, from the machine's file; a running program does not have them. */
export interface MachineDocs {
  readonly events: ReadonlyArray<Named>
  readonly implementations: ReadonlyMap<string, string>
}

/** Throws if the machine has no version. */
export const describe = (machine: AnyStateMachine, docs: MachineDocs): Description => {
  const config = machine.config as unknown as MachineConfig
  const version = Number(config.version)
  if (!Number.isSafeInteger(version) || version < 1) throw new Error(`The machine ${config.id} names no version.`)

  const isNote = (action: string | ActionConfig) =>
    (machine.implementations.actions[typeOf(action)] as { readonly type?: string } | undefined)?.type ===
    "xstate.assign"
  const commandsOf = (actions: Many<string | ActionConfig> | undefined): ReadonlyArray<Command> =>
    listOf(actions)
      .filter((action) => !isNote(action))
      .map((action) => ({ name: typeOf(action), deadline: deadlineOf(action) }))

  const states = Object.entries(config.states).map(
    ([name, state]): ChartState => ({
      name,
      description: state.description ?? "",
      isFinal: Object.values(state.on ?? {}).every((listed) =>
        transitionsOf(listed).every(({ target = name }) => target === name)
      ),
      tags: listOf(state.tags),
      entry: commandsOf(state.entry),
      exit: commandsOf(state.exit),
      unchanged: state.meta?.unchanged ?? [],
      refuses: state.meta?.refuses ?? {}
    })
  )
  const transitions = Object.entries(config.states).flatMap(([from, { on = {} }]) =>
    Object.entries(on).flatMap(([event, listed]) =>
      transitionsOf(listed).map(
        (transition, index): ChartTransition => ({
          id: `${from}.${event}.${index}`,
          from,
          event,
          guard: guardOf(transition.guard),
          to: transition.target ?? null,
          commands: commandsOf(transition.actions),
          notes: listOf(transition.actions).filter(isNote).map(typeOf),
          description: transition.description ?? ""
        })
      )
    )
  )
  const named = (name: string): Named => ({ name, description: docs.implementations.get(name) ?? "" })
  const used = new Set(
    [
      ...states.flatMap(({ entry, exit }) => [...entry, ...exit]),
      ...transitions.flatMap(({ commands }) => commands)
    ].map(({ name }) => name)
  )
  return {
    kind: config.id,
    version,
    description: config.description ?? "",
    initial: config.initial,
    states,
    events: docs.events,
    transitions,
    guards: Object.keys(machine.implementations.guards).map(named),
    commands: Object.keys(machine.implementations.actions)
      .filter((name) => used.has(name))
      .map(named)
  }
}
