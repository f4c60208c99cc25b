/**
 * Records the lives of a test's database before it is dropped, where the environment asks for it:
 *
 *     ATOLL_RECORD_HISTORIES=FOLDER npm test -- FILES
 *
 * `npm run histories -- FOLDER ORIGIN` then keeps those that differ from all known ones.
 */
import { randomBytes } from "node:crypto"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { History } from "./History.ts"

const folder = process.env["ATOLL_RECORD_HISTORIES"]

const actorsMax = 3000
const entriesMax = 60

interface Row {
  readonly kind: string
  readonly machine_version: number
  readonly input: unknown
  readonly end: History["end"]
  readonly log: History["log"]
}

const livesOf = (sql: SqlClient.SqlClient) => sql<Row>`
  select a.kind, a.machine_version, a.input, jsonb_build_object('value', a.snapshot -> 'value', 'context', a.snapshot -> 'context') as end,
    (select jsonb_agg(jsonb_build_object('event', t.event, 'from', t.from_state, 'to', t.to_state, 'commands', t.commands) order by t.revision)
      from transitions t where t.actor_id = a.id) as log
  from actors a where a.revision <= ${entriesMax}::int4 order by a.id limit ${actorsMax}::int4`

export const recordHistories = (sql: SqlClient.SqlClient): Effect.Effect<void> => {
  if (folder === undefined) return Effect.void
  return livesOf(sql).pipe(
    Effect.map((rows) => {
      const lines = rows
        .filter(({ log }) => log !== null)
        .map(({ kind, machine_version: machineVersion, input, log, end }) =>
          JSON.stringify({ kind, machineVersion, input, log, end } satisfies History)
        )
      if (lines.length === 0) return
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, `${randomBytes(8).toString("hex")}.jsonl`), `${lines.join("\n")}\n`)
    }),
    // A database that was never migrated, or is gone, has no lives.
    Effect.ignore
  )
}
