/** A machine that differs in one thing from its file's: made in memory, of a copy of the configuration and of the implementations. */
import { type AnyStateMachine, createMachine } from "xstate"

export interface Mutant {
  /** The machine, the place in it, and what is different. The same for ever, as long as that place is there. */
  readonly id: string
  /** Where it is likely to show; null: anywhere. */
  readonly state: string | null
  readonly event: string | null
  readonly make: () => AnyStateMachine | Promise<AnyStateMachine>
}

export interface PlainAction {
  readonly type: string
  readonly params?: unknown
}

export interface Branch {
  target?: string
  guard?: string | { readonly type: string; readonly params?: Readonly<Record<string, unknown>> }
  actions: Array<PlainAction>
  reenter?: boolean
}

/** A state's configuration, with lists where XState takes one thing for a list of one. */
export interface StateDraft {
  type?: string
  tags: Array<string>
  meta: { unchanged: Array<string>; refuses: Record<string, string> }
  entry: Array<PlainAction>
  exit: Array<PlainAction>
  on: Record<string, Array<Branch>>
}

export interface Draft {
  initial: string
  context: (args: unknown) => Record<string, unknown>
  states: Record<string, StateDraft>
  guards: Record<string, (args: unknown, params: unknown) => boolean>
  actions: Record<string, unknown>
}

const listOf = <A>(value: A | ReadonlyArray<A> | undefined): Array<A> =>
  value === undefined ? [] : ([value].flat() as Array<A>)

const actionOf = (action: string | PlainAction): PlainAction =>
  typeof action === "string" ? { type: action } : { ...action }

const actionsOf = (value: unknown) => listOf(value as string | PlainAction | undefined).map(actionOf)

const branchOf = (branch: unknown): Branch => {
  const one = (typeof branch === "string" ? { target: branch } : branch) as Partial<Branch>
  return { ...one, actions: actionsOf(one.actions) }
}

const stateOf = (state: Partial<Record<keyof StateDraft, unknown>>): StateDraft => {
  const { unchanged, refuses } = state.meta as StateDraft["meta"]
  return {
    ...(state as object),
    tags: listOf(state.tags as Array<string> | undefined),
    meta: { unchanged: [...unchanged], refuses: { ...refuses } },
    entry: actionsOf(state.entry),
    exit: actionsOf(state.exit),
    on: Object.fromEntries(
      Object.entries((state.on ?? {}) as Record<string, unknown>).map(([event, branches]) => [
        event,
        listOf(branches).map(branchOf)
      ])
    )
  }
}

/** A copy that may be changed. */
export const draftOf = (machine: AnyStateMachine): Draft => {
  const config = machine.config as unknown as Draft
  const { guards, actions } = machine.implementations as unknown as Pick<Draft, "guards" | "actions">
  return {
    ...config,
    states: Object.fromEntries(Object.entries(config.states).map(([name, state]) => [name, stateOf(state as never)])),
    guards: { ...guards },
    actions: { ...actions }
  }
}

export const changed = (machine: AnyStateMachine, change: (draft: Draft) => void): AnyStateMachine => {
  const draft = draftOf(machine)
  change(draft)
  const { guards, actions, ...config } = draft
  return createMachine(config as never, { ...machine.implementations, guards, actions } as never)
}

/** Another value of the same kind. */
export const otherwise = (value: unknown): unknown => {
  switch (typeof value) {
    case "boolean":
      return !value
    case "number":
      return value + 1
    case "string":
      return `${value}!`
    default:
      return value === null || value === undefined ? 0 : null
  }
}
