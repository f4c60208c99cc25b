/** Events of the audit log as rows: written in groups, read in pages. */
import { Effect, Schema } from "effect"
import { type SqlClient, SqlSchema } from "effect/sql"
import { type AuditSource, type AuditTarget, auditSources, auditTargets } from "../../schemas/Audit.ts"
import { Int8, int4Column, int8Column, textColumn } from "../store/Columns.ts"

export interface AuditEvent {
  readonly id: string
  /** Null: a change of the operator that belongs to no account. */
  readonly accountId: string | null
  /** Epoch milliseconds. */
  readonly at: number
  readonly source: AuditSource
  readonly action: string
  readonly apiKeyId: string | null
  /** Last 4 characters of the secret. */
  readonly keyHint: string | null
  readonly keyName: string | null
  readonly method: string
  /** Without the query, and without capabilities. */
  readonly path: string
  /** The Sandbox that is the target, or contains it. */
  readonly sandboxId: string | null
  readonly targetType: AuditTarget | null
  readonly targetId: string | null
  readonly status: number
  readonly errorCode: string | null
  readonly requestId: string
  /** The peer's address, from the socket. */
  readonly sourceIp: string
  readonly userAgent: string | null
}

/** Conditions; null: any. `from` inclusive, `to` exclusive, both epoch milliseconds. */
export interface AuditFilter {
  readonly from: number | null
  readonly to: number | null
  readonly action: string | null
  readonly sandboxId: string | null
  /** Absent: any. */
  readonly source?: AuditSource
}

/** The last event of the previous page. */
export interface AuditPosition {
  readonly at: number
  readonly id: string
}

const Row = Schema.Struct({
  id: Schema.String,
  account_id: Schema.NullOr(Schema.String),
  at: Int8,
  source: Schema.Literals(auditSources),
  action: Schema.String,
  api_key_id: Schema.NullOr(Schema.String),
  key_hint: Schema.NullOr(Schema.String),
  key_name: Schema.NullOr(Schema.String),
  method: Schema.String,
  path: Schema.String,
  sandbox_id: Schema.NullOr(Schema.String),
  target_type: Schema.NullOr(Schema.Literals(auditTargets)),
  target_id: Schema.NullOr(Schema.String),
  status: Schema.Int,
  error_code: Schema.NullOr(Schema.String),
  request_id: Schema.String,
  source_ip: Schema.String,
  user_agent: Schema.NullOr(Schema.String)
})

type Events = ReadonlyArray<AuditEvent>

const text = (of: (event: AuditEvent) => string | null) => (events: Events) => textColumn(events.map(of))

/** Each column: its type, and its values. */
const columns: ReadonlyArray<readonly [name: keyof typeof Row.Type, type: string, of: (events: Events) => unknown]> = [
  ["id", "text", text(({ id }) => id)],
  ["account_id", "text", text(({ accountId }) => accountId)],
  ["at", "int8", (events) => int8Column(events.map(({ at }) => BigInt(at)))],
  ["source", "text", text(({ source }) => source)],
  ["action", "text", text(({ action }) => action)],
  ["api_key_id", "text", text(({ apiKeyId }) => apiKeyId)],
  ["key_hint", "text", text(({ keyHint }) => keyHint)],
  ["key_name", "text", text(({ keyName }) => keyName)],
  ["method", "text", text(({ method }) => method)],
  ["path", "text", text(({ path }) => path)],
  ["sandbox_id", "text", text(({ sandboxId }) => sandboxId)],
  ["target_type", "text", text(({ targetType }) => targetType)],
  ["target_id", "text", text(({ targetId }) => targetId)],
  ["status", "int4", (events) => int4Column(events.map(({ status }) => status))],
  ["error_code", "text", text(({ errorCode }) => errorCode)],
  ["request_id", "text", text(({ requestId }) => requestId)],
  ["source_ip", "text", text(({ sourceIp }) => sourceIp)],
  ["user_agent", "text", text(({ userAgent }) => userAgent)]
]

const names = columns.map(([name]) => name).join(", ")

const insertion = `insert into audit_events (${names})
  select * from unnest(${columns.map(([, type], at) => `$${at + 1}::${type}[]`).join(", ")})
  on conflict do nothing`

/** Inserts events; an existing one is unchanged. */
export const insertEvents = (sql: SqlClient.SqlClient, events: Events) =>
  sql.unsafe(
    insertion,
    columns.map(([, , of]) => of(events))
  )

const eventOf = (row: typeof Row.Type): AuditEvent => ({
  id: row.id,
  accountId: row.account_id,
  at: row.at,
  source: row.source,
  action: row.action,
  apiKeyId: row.api_key_id,
  keyHint: row.key_hint,
  keyName: row.key_name,
  method: row.method,
  path: row.path,
  sandboxId: row.sandbox_id,
  targetType: row.target_type,
  targetId: row.target_id,
  status: row.status,
  errorCode: row.error_code,
  requestId: row.request_id,
  sourceIp: row.source_ip,
  userAgent: row.user_agent
})

/**
 * Newest first. The statement contains only the requested conditions: each is then a bound of an index that has the rows in this order.
 *
 * @param accountId Null: of all accounts, and of none.
 */
export const selectEvents = (
  sql: SqlClient.SqlClient,
  accountId: string | null,
  { from, to, action, sandboxId, source }: AuditFilter,
  { limit, before }: { readonly limit: number; readonly before: AuditPosition | null }
) => {
  const parameters: Array<string | bigint> = []
  const given = (value: string | bigint) => `$${parameters.push(value)}`
  const conditions = ["true"]
  if (accountId !== null) conditions.push(`account_id = ${given(accountId)}`)
  // A literal: the index of the operator's events has this condition.
  if (source !== undefined) conditions.push(`source = '${source}'`)
  if (action !== null) conditions.push(`action = ${given(action)}`)
  if (sandboxId !== null) conditions.push(`sandbox_id = ${given(sandboxId)}`)
  if (from !== null) conditions.push(`at >= ${given(BigInt(from))}::int8`)
  if (to !== null) conditions.push(`at < ${given(BigInt(to))}::int8`)
  if (before !== null) conditions.push(`(at, id) < (${given(BigInt(before.at))}::int8, ${given(before.id)}::text)`)
  const statement = `
    select ${names} from audit_events where ${conditions.join(" and ")}
    order by at desc, id desc limit ${given(BigInt(limit))}::int8`
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Row,
    execute: () => sql.unsafe(statement, parameters)
  })
  return Effect.map(find(), (found) => found.map(eventOf))
}
