/**
 * Invitations: each registers one account, once. The operator creates them. Only the link has the code; its SHA-256 is stored.
 *
 * @source contract-details.md "The console and registration"
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { newId } from "../../platform/identifier/newId.ts"
import { Int8 } from "../../store/Columns.ts"
import { isToken, newToken, sha256Of } from "./Token.ts"

export interface Invitation {
  readonly id: string
  /** The only address that may register with it; null: any. */
  readonly email: string | null
  /** The account's initial credit. */
  readonly creditMicroUsd: bigint
  /** Epoch milliseconds, like the others. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly usedAt: number | null
  /** The account that was registered with it. */
  readonly accountId: string | null
}

export type InvitationStatus = "open" | "used" | "revoked" | "expired"

export const statusOf = (invitation: Invitation, now: number): InvitationStatus => {
  if (invitation.usedAt !== null) return "used"
  if (invitation.revokedAt !== null) return "revoked"
  return now < invitation.expiresAt ? "open" : "expired"
}

/** Columns of `invitations`, except the code's hash. */
export const InvitationRow = Schema.Struct({
  id: Schema.String,
  email: Schema.NullOr(Schema.String),
  credit_micro_usd: Schema.BigInt,
  created_at: Int8,
  expires_at: Int8,
  revoked_at: Schema.NullOr(Int8),
  used_at: Schema.NullOr(Int8),
  account_id: Schema.NullOr(Schema.String)
})

export const invitationOf = (row: typeof InvitationRow.Type): Invitation => ({
  id: row.id,
  email: row.email,
  creditMicroUsd: row.credit_micro_usd,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  revokedAt: row.revoked_at,
  usedAt: row.used_at,
  accountId: row.account_id
})

const columns = Object.keys(InvitationRow.fields).join(", ")

const firstOf = (row: Option.Option<typeof InvitationRow.Type>): Invitation | null =>
  Option.getOrNull(Option.map(row, invitationOf))

export class Invitations extends Context.Service<
  Invitations,
  {
    /** `code` is available only here. */
    readonly create: (options: {
      readonly email: string | null
      readonly creditMicroUsd: bigint
      readonly expiresAt: number
    }) => Effect.Effect<{ readonly invitation: Invitation; readonly code: string }>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Invitation>>
    /** Makes it invalid; a used invitation is unchanged. Null: there is none. */
    readonly revoke: (invitationId: string) => Effect.Effect<Invitation | null>
    /** The open invitation with this code. Within a transaction its row stays locked until the end. */
    readonly find: (code: string) => Effect.Effect<Invitation | null>
    /** Marks it as used, in the transaction that creates the account. */
    readonly use: (invitationId: string, accountId: string) => Effect.Effect<void>
  }
>()("atoll/console/server/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const shown = sql.literal(columns)

      const insertRow = SqlSchema.findOne({
        Request: Schema.Struct({
          id: Schema.String,
          sha256: Schema.String,
          email: Schema.NullOr(Schema.String),
          creditMicroUsd: Schema.BigInt,
          now: Int8,
          expiresAt: Int8
        }),
        Result: InvitationRow,
        execute: ({ id, sha256, email, creditMicroUsd, now, expiresAt }) => sql`
          insert into invitations (id, code_sha256, email, credit_micro_usd, created_at, expires_at)
          values (${id}, ${sha256}, ${email}, ${creditMicroUsd}, ${now}, ${expiresAt}) returning ${shown}`
      })

      const findAll = SqlSchema.findAll({
        Request: Schema.Void,
        Result: InvitationRow,
        execute: () => sql`select ${shown} from invitations order by id`
      })

      const revokeRow = SqlSchema.findOneOption({
        Request: Schema.Struct({ id: Schema.String, now: Int8 }),
        Result: InvitationRow,
        execute: ({ id, now }) => sql`
          update invitations set revoked_at = case when used_at is null then coalesce(revoked_at, ${now}) else revoked_at end
          where id = ${id} returning ${shown}`
      })

      const lockRow = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: InvitationRow,
        execute: (sha256) => sql`select ${shown} from invitations where code_sha256 = ${sha256} for update`
      })

      const create = Effect.fn("Invitations.create")(function* (options: {
        readonly email: string | null
        readonly creditMicroUsd: bigint
        readonly expiresAt: number
      }) {
        const code = newToken()
        const now = yield* Clock.currentTimeMillis
        const row = yield* insertRow({ ...options, id: newId("inv_"), sha256: sha256Of(code), now })
        return { invitation: invitationOf(row), code }
      }, Effect.orDie)

      const list = findAll().pipe(
        Effect.map((rows) => rows.map(invitationOf)),
        Effect.orDie
      )

      const revoke = Effect.fn("Invitations.revoke")(function* (invitationId: string) {
        const now = yield* Clock.currentTimeMillis
        return firstOf(yield* revokeRow({ id: invitationId, now }))
      }, Effect.orDie)

      const find = Effect.fn("Invitations.find")(function* (code: string) {
        if (!isToken(code)) return null
        const invitation = firstOf(yield* lockRow(sha256Of(code)))
        if (invitation === null) return null
        return statusOf(invitation, yield* Clock.currentTimeMillis) === "open" ? invitation : null
      }, Effect.orDie)

      const use = Effect.fn("Invitations.use")(function* (invitationId: string, accountId: string) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        yield* sql`update invitations set used_at = ${now}, account_id = ${accountId} where id = ${invitationId}`
      }, Effect.orDie)

      return { create, list, revoke, find, use }
    })
  )
}
