/**
 * A record of each synchronous command: noted at its end and written in groups, so that an execute needs no statement.
 */
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { boolColumn, int4Column, int8Column, textColumn } from "./Columns.ts"
import { groupedNotes } from "./GroupedNotes.ts"

export interface ExecutionNote {
  readonly id: string
  readonly accountId: string
  readonly sandboxId: string
  readonly generation: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly finishedAt: number
  readonly exitCode: number | null
  readonly timedOut: boolean
}

const writeAfterMs = 100

export class ExecutionLog extends Context.Service<
  ExecutionLog,
  {
    readonly note: (execution: ExecutionNote) => void
    /** Writes pending records, before they are read. */
    readonly write: Effect.Effect<void>
  }
>()("atoll/store/ExecutionLog") {
  static readonly layer = Layer.effect(
    ExecutionLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const insert = (notes: ReadonlyArray<ExecutionNote>) =>
        sql.unsafe(
          `insert into executions (id, account_id, sandbox_id, generation, started_at, finished_at, exit_code, timed_out)
           select * from unnest($1::text[], $2::text[], $3::text[], $4::int4[], $5::int8[], $6::int8[], $7::int4[], $8::bool[])
           on conflict do nothing`,
          [
            textColumn(notes.map((note) => note.id)),
            textColumn(notes.map((note) => note.accountId)),
            textColumn(notes.map((note) => note.sandboxId)),
            int4Column(notes.map((note) => note.generation)),
            int8Column(notes.map((note) => BigInt(note.startedAt))),
            int8Column(notes.map((note) => BigInt(note.finishedAt))),
            int4Column(notes.map((note) => note.exitCode)),
            boolColumn(notes.map((note) => note.timedOut))
          ]
        )

      return ExecutionLog.of(
        yield* groupedNotes({ what: "records of executes", name: "executions", writeAfterMs, insert })
      )
    })
  )
}
