/**
 * The audit log: calls that change something or read content. Each event is in the spool of the data folder before its call is answered, and in
 * the database within a second: a killed service, or a killed database, loses none.
 *
 * @source contract-details.md "Usage and credit": Audit
 */
import { Clock, Context, Effect, Layer, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import { userAgentMaxCharacters } from "../../schemas/Audit.ts"
import { Settings } from "../Config.ts"
import { newId } from "../platform/identifier/newId.ts"
import { worker } from "../platform/worker/Worker.ts"
import { MaintenanceDatabase } from "../store/Database.ts"
import { groupedNotes } from "../store/GroupedNotes.ts"
import { withoutSecrets } from "./ApiKeySecret.ts"
import { type AuditEvent, type AuditFilter, type AuditPosition, insertEvents, selectEvents } from "./AuditRows.ts"

/** `requestId` and `userAgent` as the caller sent them. */
export type AuditCall = Omit<AuditEvent, "id" | "at">

const writeAfterMs = 1000
const pruneEvery = "1 hour"
const dayMs = 24 * 60 * 60 * 1000

/** The stored part of a client's User-Agent. */
export const heldUserAgent = (text: string | null): string | null =>
  text === null || text === ""
    ? null
    : withoutSecrets(text.slice(0, 2 * userAgentMaxCharacters))
        .replace(/[^\x20-\x7e]/g, "?")
        .slice(0, userAgentMaxCharacters)

export class Audit extends Context.Service<
  Audit,
  {
    readonly note: (call: AuditCall) => void
    /** Writes pending events. */
    readonly write: Effect.Effect<void>
    /** Newest first, only events before the given one. `accountId` null: of all accounts, and of none. */
    readonly list: (
      accountId: string | null,
      filter: AuditFilter,
      page: { readonly limit: number; readonly before: AuditPosition | null }
    ) => Effect.Effect<ReadonlyArray<AuditEvent>>
  }
>()("atoll/account/Audit") {
  static readonly layer = Layer.effect(
    Audit,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const maintenance = yield* MaintenanceDatabase
      const { auditRetentionDays } = yield* Settings

      const { note, write } = yield* groupedNotes({
        what: "events of the audit log",
        name: "audit",
        writeAfterMs,
        insert: (events: ReadonlyArray<AuditEvent>) => insertEvents(sql, events)
      })

      const prune = Effect.gen(function* () {
        const cutoff = BigInt((yield* Clock.currentTimeMillis) - auditRetentionDays * dayMs)
        yield* maintenance`delete from audit_events where at < ${cutoff}`
      }).pipe(Effect.catch((error) => Effect.logWarning("Could not prune the audit log", error)))

      yield* worker("audit pruner", prune.pipe(Effect.repeat(Schedule.spaced(pruneEvery))))

      return {
        note: (call) =>
          note({
            ...call,
            id: newId("aud_"),
            at: Date.now(),
            requestId: withoutSecrets(call.requestId),
            userAgent: heldUserAgent(call.userAgent)
          }),
        write,
        list: Effect.fn("Audit.list")((accountId, filter, page) =>
          Effect.orDie(selectEvents(sql, accountId, filter, page))
        )
      }
    })
  )
}
