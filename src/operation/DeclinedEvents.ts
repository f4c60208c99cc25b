/**
 * Rejected events of operations: the losers of races, with the reason. They change nothing, so the log of transitions does not have them.
 *
 * They are recorded before they are answered and written in groups, so that a response waits for no statement. The first few of each operation are
 * kept as long as the operation.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { declinedEventsMax } from "../../schemas/Limits.ts"
import type { DeclinedEventList } from "../../schemas/Transition.ts"
import type { DeclinedEvent } from "../engine/ActorDefinition.ts"
import { newId } from "../platform/identifier/newId.ts"
import { int8Column, jsonColumn, textColumn } from "../store/Columns.ts"
import { forAMoment } from "../store/DatabaseFault.ts"
import { groupedNotes } from "../store/GroupedNotes.ts"

const writeAfterMs = 200

interface Noted extends DeclinedEvent {
  readonly id: string
}

interface Row {
  readonly revision: bigint
  readonly at: bigint
  readonly state: string
  readonly event: DeclinedEvent["event"]
  readonly code: string | null
  readonly cause: string
  readonly request_id: string | null
}

/** Stores one more than is shown, as a sign that there were more. */
const insertion = `
  insert into declined_events (actor_id, id, revision, at, state, event, code, cause, request_id)
  select d.actor_id, d.id, d.revision, d.at, d.state, d.event::jsonb, d.code, d.cause, d.request_id
  from unnest($1::text[], $2::text[], $3::int8[], $4::int8[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[])
    as d (actor_id, id, revision, at, state, event, code, cause, request_id)
  join actors a on a.id = d.actor_id
  where (select count(*) from declined_events e where e.actor_id = d.actor_id) <= ${declinedEventsMax}
  on conflict do nothing`

export const declinedEvents = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  const text = (notes: ReadonlyArray<Noted>, of: (one: Noted) => string | null) => textColumn(notes.map(of))
  const { note, write } = yield* groupedNotes({
    what: "rejected events of operations",
    name: "declined",
    writeAfterMs,
    insert: (notes: ReadonlyArray<Noted>) =>
      sql.unsafe(insertion, [
        text(notes, ({ actorId }) => actorId),
        text(notes, ({ id }) => id),
        int8Column(notes.map(({ revision }) => BigInt(revision))),
        int8Column(notes.map(({ at }) => BigInt(at))),
        text(notes, ({ state }) => state),
        jsonColumn(notes.map(({ event }) => event)),
        text(notes, ({ code }) => code),
        text(notes, ({ cause }) => cause),
        text(notes, ({ requestId }) => requestId)
      ])
  })

  return {
    note: (declined: DeclinedEvent): void => note({ ...declined, id: newId("dec_") }),
    /** In order of arrival. Events recorded in other processes appear a moment later. */
    list: Effect.fn("DeclinedEvents.list")(function* (operationId: string) {
      yield* write
      const rows = yield* sql<Row>`
        select revision, at, state, event, code, cause, request_id from declined_events
        where actor_id = ${operationId} order by id limit ${declinedEventsMax + 1}`.pipe(
        Effect.retry(forAMoment),
        Effect.orDie
      )
      return {
        declined: rows.slice(0, declinedEventsMax).map(({ revision, at, request_id: requestId, ...row }) => ({
          ...row,
          revision: Number(revision),
          at: new Date(Number(at)).toISOString(),
          requestId
        })),
        truncated: rows.length > declinedEventsMax
      } satisfies DeclinedEventList
    })
  }
})
