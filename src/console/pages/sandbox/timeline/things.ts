/** Everything with a lane on a Sandbox's timeline, as a list of steps. */
import type { Transition } from "../../../../../schemas/Transition.ts"

export const laneKinds = ["sandbox", "operation", "preview", "serviceAccess", "connectionGrant", "snapshot"] as const
export type LaneKind = (typeof laneKinds)[number]

/** A transition, reduced to what the timeline shows. */
export interface Step {
  readonly revision: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly event: string
  readonly from: string | null
  readonly to: string
  readonly cause: string
  readonly requestId: string | null
}

export interface Thing {
  readonly kind: LaneKind
  readonly id: string
  /** Sorted by revision; steps before the first are unknown here. */
  readonly steps: ReadonlyArray<Step>
}

export const stepOf = ({ revision, at, event, from, to, cause, requestId }: Transition): Step => ({
  revision,
  at: Date.parse(at),
  event: event.type,
  from,
  to,
  cause,
  requestId
})

export const lastOf = ({ steps }: Thing): Step => steps[steps.length - 1]!

/** Merges repeated reports; a changed resource becomes a new object. */
export class Things {
  readonly #byId = new Map<string, Thing>()

  /** @returns True if the step was new. */
  add(kind: LaneKind, id: string, step: Step): boolean {
    const known = this.#byId.get(id)
    const steps = known?.steps ?? []
    let at = steps.length
    while (at > 0 && steps[at - 1]!.revision > step.revision) at--
    if (steps[at - 1]?.revision === step.revision) return false
    this.#byId.set(id, { kind, id, steps: steps.toSpliced(at, 0, step) })
    return true
  }

  /** Sorted by first step. */
  sorted(): ReadonlyArray<Thing> {
    return [...this.#byId.values()].sort((a, b) => a.steps[0]!.at - b.steps[0]!.at)
  }
}
