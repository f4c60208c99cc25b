/**
 * The log of a Sandbox: its stored output, read by time.
 *
 * An entry is one stored chunk of one stream, at most 64 KiB. Entries are sorted oldest first; with more than `limit` matches, the newest are
 * returned. An answer holds at most 16 MiB of text as JSON, so that 5,000 full entries are never in memory together; entries beyond that are also
 * `truncated`.
 *
 * @source contract.md SandboxLogs, contract-details.md "SandboxLogs"
 */

import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { CursorStale, type NotFound } from "../../../schemas/Errors.ts"
import { lockByKey } from "../../platform/concurrency/lockByKey.ts"
import { ownSandbox } from "../../sandbox/ownSandbox.ts"
import { Actors } from "../../store/Actors.ts"
import { Int8 } from "../../store/Columns.ts"
import { entryOf, type LogEntry } from "./LogChunks.ts"
import { type LogFollowing, type LogReading, logReadings } from "./LogReading.ts"
import { type LogQuery, newestChunks } from "./newestChunks.ts"

const stale = () =>
  new CursorStale({
    message: "This is the id of an event that the database does not have. Open the stream without it."
  })

const answerBytesMax = 16 * 1024 * 1024

const quotesBytes = 2

/** Text may be six times as long in JSON. Drops the oldest entries that do not fit, but never the newest entry. */
const newestFitting = (entries: ReadonlyArray<LogEntry>): ReadonlyArray<LogEntry> => {
  let bytes = 0
  const from = entries.findLastIndex(({ text }) => {
    bytes += Buffer.byteLength(JSON.stringify(text)) - quotesBytes
    return bytes > answerBytesMax
  })
  return entries.slice(Math.min(from + 1, Math.max(entries.length - 1, 0)))
}

export class Logs extends Context.Service<
  Logs,
  {
    readonly read: (
      accountId: string,
      sandboxId: string,
      query: LogQuery
    ) => Effect.Effect<{ readonly entries: ReadonlyArray<LogEntry>; readonly truncated: boolean }, NotFound>
    readonly follow: (
      accountId: string,
      sandboxId: string,
      following: LogFollowing
    ) => Effect.Effect<LogReading, NotFound | CursorStale>
  }
>()("atoll/observe/logs/Logs") {
  static readonly layer = Layer.effect(
    Logs,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const actors = yield* Actors
      const newest = yield* newestChunks
      const reading = yield* logReadings
      const inTurn = yield* lockByKey

      const find = (accountId: string, sandboxId: string) => ownSandbox(actors, accountId, sandboxId)

      /** A database restored from a backup continues the numbers from that backup. */
      const newestNumber = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ seq: Int8 }),
        execute: () => sql`
          select coalesce(pg_sequence_last_value(pg_get_serial_sequence('output_chunks', 'seq')::regclass), 0) as seq`
      })().pipe(
        Effect.orDie,
        Effect.map(({ seq }) => seq)
      )

      return Logs.of({
        read: Effect.fn("Logs.read")(function* (accountId, sandboxId, query) {
          yield* find(accountId, sandboxId)
          const { rows, truncated } = yield* newest(sandboxId, query, answerBytesMax)
          const entries = newestFitting(rows.map(entryOf))
          return { entries, truncated: truncated || entries.length < rows.length }
        }),
        follow: Effect.fn("Logs.follow")(function* (accountId, sandboxId, following) {
          yield* find(accountId, sandboxId)
          if (following.after !== null && (yield* newestNumber) < following.after.seq) return yield* stale()
          return reading(sandboxId, following, inTurn(accountId))
        })
      })
    })
  )
}
