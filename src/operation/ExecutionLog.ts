/**
 * That synchronous commands ran: remembered when they end and written in groups, so that no execute costs a statement of its own.
 *
 * What a crash catches unwritten (at most a tenth of a second of it) is missing in analytics; what a stop catches is written.
 */
import { PgTypes } from "@effect/sql-pg"
import { Context, Effect, FiberSet, Layer, Result } from "effect"
import { SqlClient } from "effect/unstable/sql"
import { int4Column, int8Column, textColumn } from "../store/Columns.ts"

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
const unwrittenMax = 10_000
const batchMax = 1000

export class ExecutionLog extends Context.Service<
  ExecutionLog,
  {
    /** Past a bound, when the database does not keep up, notes are dropped and their number is logged. */
    readonly note: (execution: ExecutionNote) => void
    /** Writes what is not written yet: for whoever reads them next. */
    readonly write: Effect.Effect<void>
  }
>()("atoll/operation/ExecutionLog") {
  static readonly layer = Layer.effect(
    ExecutionLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      let unwritten: Array<ExecutionNote> = []
      let dropped = 0

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
            Result.getOrThrow(
              PgTypes.array(
                notes.map((note) => note.timedOut),
                PgTypes.OID.bool
              )
            )
          ]
        )

      /** A note leaves the queue when it is written: a failed write is tried again with the next. */
      const write = Effect.gen(function* () {
        while (unwritten.length > 0) {
          const batch = unwritten.slice(0, batchMax)
          yield* insert(batch)
          const written = new Set(batch)
          unwritten = unwritten.filter((note) => !written.has(note))
        }
        if (dropped > 0) {
          yield* Effect.logWarning(`${dropped} executes are missing in analytics: the database did not keep up`)
          dropped = 0
        }
      }).pipe(
        Effect.catch((error) => Effect.logWarning("Executes could not be noted; it is tried again", error)),
        Effect.uninterruptible
      )

      const fork = yield* FiberSet.makeRuntime()
      let isDue = false
      const writeSoon = Effect.sleep(writeAfterMs).pipe(
        Effect.andThen(
          Effect.sync(() => {
            isDue = false
          })
        ),
        // What could not be written waits for the next note.
        Effect.andThen(write)
      )
      yield* Effect.addFinalizer(() => write)

      return ExecutionLog.of({
        note: (execution) => {
          if (unwritten.length < unwrittenMax) unwritten.push(execution)
          else dropped++
          if (isDue) return
          isDue = true
          fork(writeSoon)
        },
        write
      })
    })
  )
}
