/**
 * The instant from which each deadline of an outcome is counted: found by moving one instant of the event at a time.
 */
import type { AnyEvent } from "../../../src/engine/ActorDefinition.ts"
import { decide, type Verdict } from "../../../src/engine/Transition.ts"
import type { MachineSource } from "../../support/machines/MachineSource.ts"
import type { Step } from "../../support/machines/walk.ts"
import { deadlinesOf, restoreFrozen } from "../../support/machines/walk.ts"

const movedByMs = 7000

const isTime = (field: string) => field === "at" || field === "until" || field.endsWith("At") || field.endsWith("Ms")

const timesOf = (event: AnyEvent): ReadonlyArray<string> =>
  Object.entries(event)
    .filter(([field, value]) => isTime(field) && typeof value === "number")
    .map(([field]) => field)

const isSameOutcome = (one: Verdict, other: Verdict): one is Extract<Verdict, { readonly type: "accepted" }> =>
  one.type === "accepted" && other.type === "accepted" && one.snapshot.value === other.snapshot.value

/**
 * By deadline of an accepted step: the fields of the event that move it; `"context"`: it is new or moved, by values
 * that the machine kept from earlier events; empty: it is unchanged.
 */
export const deadlineSources = (
  source: MachineSource,
  { from, event, verdict }: Step
): ReadonlyMap<string, ReadonlyArray<string>> => {
  if (verdict.type !== "accepted" || Object.keys(verdict.deadlines).length === 0) return new Map()
  const earlier = deadlinesOf(from)
  const moved = timesOf(event).map((field) => {
    const later = { ...event, [field]: (event as unknown as Record<string, number>)[field]! + movedByMs }
    return [field, decide(source.machine, restoreFrozen(source, from), later, 2, earlier)] as const
  })
  return new Map(
    Object.entries(verdict.deadlines).map(([name, { at }]) => {
      const fields = moved
        .filter(([, other]) => isSameOutcome(other, verdict) && (other.deadlines[name]?.at ?? at) !== at)
        .map(([field]) => field)
      return [name, fields.length > 0 ? fields : earlier[name]?.at === at ? [] : ["context"]]
    })
  )
}
