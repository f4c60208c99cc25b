/** Runs a machine in the browser: the real machine, by XState's pure functions, without executing its commands. */
import type { AnyActorScope, AnyMachineSnapshot, AnyStateMachine } from "xstate"
import type { StateMeta } from "../../../../machines/meta.ts"

export interface AnyEvent {
  readonly type: string
  readonly [field: string]: unknown
}

/** A command of a step. */
export interface Asked {
  readonly type: string
  readonly params: unknown
}

/** Named deadlines: epoch milliseconds and the event. */
export type Deadlines = Readonly<Record<string, { readonly at: number; readonly event: AnyEvent }>>

export type Verdict =
  | { readonly type: "accepted"; readonly snapshot: AnyMachineSnapshot; readonly commands: ReadonlyArray<Asked> }
  /** The state ignored the event. */
  | { readonly type: "unchanged" }
  | { readonly type: "refused"; readonly code: string }

/**
 * Replaces the actor that XState creates in its own `transition`: for a machine without children it only collects the actions. That actor is
 * half of XState's code (`bundle/leftOut.ts`).
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

/** Events of the state that the guards accept; our machines have no others. `eventOf` gives the event to test. */
export const nextEvents = (snapshot: AnyMachineSnapshot, eventOf: (type: string) => AnyEvent): ReadonlyArray<string> =>
  Object.keys(snapshot.machine.states[snapshot.value as string]!.config.on ?? {}).filter((type) =>
    snapshot.can(eventOf(type) as never)
  )

/**
 * The deadlines after a step, from those before it and the step's commands.
 *
 * @param fired The event of the deadline that caused the step and is now cleared; null: none.
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
