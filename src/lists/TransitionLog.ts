/** The transition log of one actor in the API's form, with the possible next events. */
import { Effect } from "effect"
import type { AnyMachineSnapshot, AnyStateMachine } from "xstate"
import { getNextTransitions } from "xstate"
import type { TransitionList } from "../../schemas/Transition.ts"
import { restore } from "../engine/Transition.ts"
import { type ActorRecord, Actors } from "../store/Actors.ts"
import { type ListBinding, openCursor, pageOf } from "./Paging.ts"

/** The events that the guards accept now from an unnamed client. */
const nextEvents = (snapshot: AnyMachineSnapshot): ReadonlyArray<string> => {
  const { generation, edition, idleStopAt } = snapshot.context as {
    readonly generation?: number
    readonly edition?: number
    readonly idleStopAt?: number | null
  }
  const types = new Set(getNextTransitions(snapshot).map((transition) => transition.eventType))
  return [...types].filter((type) => snapshot.can({ type, generation, edition, idleStopAt, client: "" }))
}

export const transitionLog = Effect.fn("transitionLog")(function* (
  machine: AnyStateMachine,
  record: ActorRecord,
  accountId: string,
  page: { readonly limit: number; readonly cursor: string | null }
) {
  const actors = yield* Actors
  const list: ListBinding = [accountId, "transitions", record.id, yield* actors.era]
  const after = yield* openCursor(list, page.cursor, /^\d{1,15}$/)
  const log = yield* actors.log(record.id, Number(after ?? 0), page.limit + 1)
  const { entries, nextCursor } = pageOf(list, log, page.limit, (entry) => String(entry.revision))
  const snapshot = restore(machine, { value: record.status, context: record.context })
  return {
    transitions: entries.map((entry) => ({
      ...entry,
      at: new Date(entry.at).toISOString(),
      commands: entry.commands.map(({ type, params }) => ({ type, params }))
    })),
    nextCursor,
    nextEvents: nextEvents(snapshot),
    stored: {
      revision: record.revision,
      status: record.status,
      context: record.context as TransitionList["stored"]["context"]
    }
  } satisfies TransitionList
})
