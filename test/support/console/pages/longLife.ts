/** A Sandbox that has lived for long: its log is what its machine makes of a week of starts, deaths and stops. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sandboxMachine } from "../../../../machines/sandbox.ts"
import type { AnyEvent } from "../../../../src/engine/ActorDefinition.ts"
import { begin, decide, store } from "../../../../src/engine/Transition.ts"
import { newId } from "../../../../src/platform/identifier/newId.ts"
import { int8Column, jsonColumn, textColumn } from "../../../../src/store/Columns.ts"
import type { PendingCommand } from "../../../../src/store/JournalRecord.ts"
import { fillColumns } from "../../derivedColumns.ts"

const week = 7 * 24 * 3_600_000

interface Row {
  readonly at: number
  readonly event: AnyEvent
  readonly from: string | null
  readonly to: string
  readonly commands: ReadonlyArray<PendingCommand>
}

/** Events that each come soon after the one before, with rests of many hours between eight parts of them. */
function* events(count: number, start: number): Generator<(generation: number) => AnyEvent> {
  let at = start
  for (let index = 0, generation = 1; index < count; ) {
    const next = (type: string, fields: (generation: number) => object = () => ({})) => {
      at += 20 + ((index * 7919) % 60)
      if (++index % Math.ceil(count / 8) === 0) at += Math.floor(week / 9)
      const when = at
      return (generation: number): AnyEvent => ({ type, at: when, ...fields(generation) })
    }
    const dies = generation++ % 5 === 0
    const reason = { code: "RUNTIME_DIED", message: "The machine is gone." }
    yield next("RUNTIME_UP", (generation) => ({ generation }))
    yield next("IN_USE", () => ({ until: at + 60_000 }))
    yield dies ? next("RUNTIME_DOWN", (generation) => ({ generation, reason })) : next("STOP")
    yield next("RUNTIME_STOPPED", (generation) => ({ generation }))
    yield next("START")
  }
}

/**
 * Like another Sandbox of the service, with a log of its own; the service itself never had it in its hands.
 *
 * @returns Its id, and its states by revision.
 */
export const longLife = Effect.fnUntraced(function* (likeId: string, length: number) {
  const sql = yield* SqlClient.SqlClient
  const [like] = yield* sql<{ readonly input: object; readonly account_id: string }>`
    select input, account_id from actors where id = ${likeId}`
  const id = newId("sbx_")
  const createdAt = Date.now() - week
  const input = { ...like!.input, sandboxId: id, name: "long-lived", at: createdAt }
  const first = begin(sandboxMachine, input)
  let { snapshot, deadlines } = first
  const rows: Array<Row> = [
    { at: createdAt, event: { type: "CREATED", at: createdAt }, from: null, to: "pending", commands: first.commands }
  ]
  for (const eventOf of events(length + 10, createdAt)) {
    // It ends where nothing is asked of the service.
    if (rows.length === length) break
    const { generation } = snapshot.context as { readonly generation: number }
    const event = eventOf(generation)
    const verdict = decide(sandboxMachine, snapshot, event, rows.length + 1, deadlines)
    if (verdict.type !== "accepted") throw new Error(`${event.type} is ${verdict.type} in ${snapshot.value}`)
    const from = snapshot.value as string
    ;({ snapshot, deadlines } = verdict)
    rows.push({ at: event["at"] as number, event, from, to: snapshot.value as string, commands: verdict.commands })
  }
  yield* sql`
    insert into actors (id, kind, account_id, sandbox_id, machine_version, revision, input, snapshot, created_at)
    values (${id}, 'sandbox', ${like!.account_id}, ${id}, 1, ${BigInt(rows.length)}, ${JSON.stringify(input)}::text::jsonb,
      ${JSON.stringify(store(snapshot))}::text::jsonb, ${BigInt(createdAt)})`
  yield* fillColumns
  yield* sql`
    insert into transitions (actor_id, revision, at, event, from_state, to_state, commands, cause, request_id, commit_token)
    select ${id}, n, at, event::jsonb, from_state, to_state, commands::jsonb, 'client', 'req_of_' || n, ''
    from unnest(${int8Column(rows.map(({ at }) => BigInt(at)))}::int8[], ${jsonColumn(rows.map(({ event }) => event))}::text[],
      ${textColumn(rows.map(({ from }) => from))}::text[], ${textColumn(rows.map(({ to }) => to))}::text[],
      ${jsonColumn(rows.map(({ commands }) => commands))}::text[])
      with ordinality as i (at, event, from_state, to_state, commands, n)`
  return { id, states: rows.map(({ to }) => to) }
})
