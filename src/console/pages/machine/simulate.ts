/** A machine's life in the browser: the real machine, by XState's pure functions, and nothing is done about what it asks for. */
import type { AnyActorScope, AnyMachineSnapshot, AnyStateMachine } from "xstate"
import type { StateMeta } from "../../../../machines/meta.ts"

export interface AnyEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** What a step asks the service to do. */
export interface Asked {
  readonly type: string
  readonly params: unknown
}

/** By name: what comes by itself at an instant, in epoch milliseconds. */
export type Deadlines = Readonly<Record<string, { readonly at: number; readonly event: AnyEvent }>>

export type Verdict =
  | { readonly type: "accepted"; readonly snapshot: AnyMachineSnapshot; readonly commands: ReadonlyArray<Asked> }
  /** Answered with the state as it is. */
  | { readonly type: "unchanged" }
  | { readonly type: "refused"; readonly code: string }

/**
 * What XState makes an actor for in its own `transition`: a machine without children tells it its actions, and nothing else. That actor is
 * half of XState (`bundle/leftOut.ts`).
 */
const step = (take: (scope: AnyActorScope) => unknown) => {
  const commands: Array<Asked> = []
  const scope = {
    actionExecutor: ({ type, params }: Pick<Asked, "type"> & Partial<Asked>) => {
      commands.push({ type, params: params ?? null })
    },
    system: { _sendInspectionEvent: () => {} }
  }
  const snapshot = take(scope as unknown as AnyActorScope) as AnyMachineSnapshot
  if (snapshot.status === "error") throw snapshot.error
  return { snapshot: snapshot as AnyMachineSnapshot, commands }
}

export const begin = (machine: AnyStateMachine, input: unknown) =>
  step((scope) => machine.getInitialSnapshot(scope, input as never))

export const decide = (machine: AnyStateMachine, snapshot: AnyMachineSnapshot, event: AnyEvent): Verdict => {
  if (!snapshot.can(event as never)) {
    const meta = machine.states[snapshot.value as string]?.meta as StateMeta | undefined
    return meta?.unchanged.includes(event.type) === true
      ? { type: "unchanged" }
      : { type: "refused", code: meta?.refuses[event.type] ?? "UNEXPECTED_EVENT" }
  }
  return { type: "accepted", ...step((scope) => machine.transition(snapshot, event as never, scope)) }
}

/** Those that the guards let through, of the state's own: no machine of ours has others. `eventOf` gives the event that would come. */
export const nextEvents = (snapshot: AnyMachineSnapshot, eventOf: (type: string) => AnyEvent): ReadonlyArray<string> =>
  Object.keys(snapshot.machine.states[snapshot.value as string]!.config.on ?? {}).filter((type) =>
    snapshot.can(eventOf(type) as never)
  )

/**
 * What waits after a step, of what waited before it and what the step asks for.
 *
 * @param fired The event of the deadline that led to the step, which waits no more; null where none did.
 */
export const deadlinesAfter = (before: Deadlines, commands: ReadonlyArray<Asked>, fired: string | null): Deadlines => {
  const asked = commands.filter(({ type }) => type === "schedule" || type === "unschedule")
  if (asked.length === 0 && fired === null) return before
  const waiting = new Map(Object.entries(before).filter(([, { event }]) => event.type !== fired))
  for (const { type, params } of asked) {
    const { name, at, event } = params as {
      readonly name: string
      readonly at?: number | null
      readonly event: AnyEvent
    }
    if (type === "unschedule" || at === null || at === undefined) waiting.delete(name)
    else waiting.set(name, { at, event })
  }
  return Object.fromEntries(waiting)
}
