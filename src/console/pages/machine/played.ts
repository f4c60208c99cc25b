/** The simulator's steps: the events of its text, sent one by one. */
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate"
import { type AnyEvent, type Asked, decide, type Verdict } from "./simulate.ts"

export interface Step {
  readonly event: AnyEvent | null
  readonly from: string | null
  readonly before: AnyMachineSnapshot | null
  readonly snapshot: AnyMachineSnapshot
  readonly commands: ReadonlyArray<Asked>
}

export interface Attempt {
  readonly event: AnyEvent
  readonly state: string
  readonly verdict: Verdict
}

/** Parameters of one event of this type; or a list of whole events, as an exploration prints them. */
export const eventsOf = (json: string, type: string, now: number): ReadonlyArray<AnyEvent> => {
  const parsed: unknown = JSON.parse(json)
  return Array.isArray(parsed)
    ? parsed.map((event: AnyEvent) => ({ at: now, ...event }))
    : [{ at: now, ...(parsed as object), type }]
}

/** The steps with those that the machine takes, and the last attempt; null: there was no event. */
export const played = (
  machine: AnyStateMachine,
  steps: ReadonlyArray<Step>,
  events: ReadonlyArray<AnyEvent>
): { readonly steps: ReadonlyArray<Step>; readonly attempt: Attempt | null } => {
  const taken = [...steps]
  let attempt: Attempt | null = null
  for (const event of events) {
    const { snapshot: before } = taken.at(-1)!
    const from = before.value as string
    const verdict = decide(machine, before, event)
    attempt = { event, state: from, verdict }
    if (verdict.type !== "accepted") continue
    taken.push({ event, from, before, snapshot: verdict.snapshot, commands: verdict.commands })
  }
  return { steps: taken, attempt }
}
