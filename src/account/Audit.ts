/**
 * The audit log: calls that change something, remembered when they are answered and written in groups.
 *
 * What a crash catches unwritten (at most a second of it) is lost; what a stop catches is written.
 *
 * @source contract-details.md "Shapes": Audit
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import { newId } from "../identifier/newId.ts"
import { groupedNotes } from "../store/GroupedNotes.ts"
import { worker } from "../worker/Worker.ts"

export interface AuditCall {
  readonly accountId: string
  readonly apiKeyId: string
  readonly keyHint: string
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  readonly requestId: string
  /** The peer's address as the socket knows it. */
  readonly sourceIp: string
}

export interface AuditEvent extends AuditCall {
  readonly id: string
  /** Epoch milliseconds. */
  readonly at: number
}

interface Row {
  readonly id: string
  readonly at: bigint
  readonly api_key_id: string
  readonly key_hint: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly request_id: string
  readonly source_ip: string
}

const writeAfterMs = 1000
const pruneEvery = "1 hour"
const dayMs = 24 * 60 * 60 * 1000

export class Audit extends Context.Service<
  Audit,
  {
    readonly note: (call: AuditCall) => void
    /** Writes what is not written yet. */
    readonly write: Effect.Effect<void>
    /** Newest first, those before the given id. */
    readonly list: (
      accountId: string,
      page: { readonly limit: number; readonly before: string | null }
    ) => Effect.Effect<ReadonlyArray<AuditEvent>>
  }
>()("atoll/account/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { auditRetentionDays } = yield* Settings
      const insert = (events: ReadonlyArray<AuditEvent>) =>
        sql.unsafe(
          `insert into audit_events (id, account_id, at, api_key_id, key_hint, method, path, status, request_id, source_ip)
           select * from unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::text[], $6::text[], $7::text[], $8::int4[], $9::text[], $10::text[])
           on conflict do nothing`,
          [
            events.map((event) => event.id),
            events.map((event) => event.accountId),
            events.map((event) => BigInt(event.at)),
            events.map((event) => event.apiKeyId),
            events.map((event) => event.keyHint),
            events.map((event) => event.method),
            events.map((event) => event.path),
            events.map((event) => event.status),
            events.map((event) => event.requestId),
            events.map((event) => event.sourceIp)
          ]
        )

      const { note, write } = yield* groupedNotes({ what: "events of the audit log", writeAfterMs, insert })

      const prune = Effect.gen(function* () {
        const cutoff = BigInt((yield* Clock.currentTimeMillis) - auditRetentionDays * dayMs)
        yield* sql`delete from audit_events where at < ${cutoff}`
      }).pipe(Effect.catch((error) => Effect.logWarning("The audit log could not be pruned", error)))

      const list = Effect.fn("Audit.list")(function* (
        accountId: string,
        { limit, before }: { readonly limit: number; readonly before: string | null }
      ) {
        const rows = yield* sql<Row>`
          select id, at, api_key_id, key_hint, method, path, status, request_id, source_ip from audit_events
          where account_id = ${accountId} and (${before}::text is null or id < ${before})
          order by id desc limit ${BigInt(limit)}`
        return rows.map((row) => ({
          id: row.id,
          accountId,
          at: Number(row.at),
          apiKeyId: row.api_key_id,
          keyHint: row.key_hint,
          method: row.method,
          path: row.path,
          status: row.status,
          requestId: row.request_id,
          sourceIp: row.source_ip
        }))
      }, Effect.orDie)

      yield* worker("audit pruner", prune.pipe(Effect.repeat(Schedule.spaced(pruneEvery))))

      return {
        note: (call) => note({ ...call, id: newId("aud_"), at: Date.now() }),
        write,
        list
      }
    })
  )
}
