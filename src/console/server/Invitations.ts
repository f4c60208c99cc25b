/**
 * Invitations: one registers one account, once. The operator makes them; the code is known to whoever has the link and is stored as its SHA-256.
 *
 * @source contract-details.md "The console and registration"
 */
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { newId } from "../../identifier/newId.ts"
import { isToken, newToken, sha256Of } from "./Token.ts"

export interface Invitation {
  readonly id: string
  /** Whoever registers with it has this address; null: any. */
  readonly email: string | null
  /** What the account has from the start. */
  readonly creditMicroUsd: bigint
  /** Epoch milliseconds, as are the others. */
  readonly createdAt: number
  readonly expiresAt: number
  readonly revokedAt: number | null
  readonly usedAt: number | null
  /** The account that was made with it. */
  readonly accountId: string | null
}

export type InvitationStatus = "open" | "used" | "revoked" | "expired"

export const statusOf = (invitation: Invitation, now: number): InvitationStatus => {
  if (invitation.usedAt !== null) return "used"
  if (invitation.revokedAt !== null) return "revoked"
  return now < invitation.expiresAt ? "open" : "expired"
}

interface Row {
  readonly id: string
  readonly email: string | null
  readonly credit_micro_usd: bigint
  readonly created_at: bigint
  readonly expires_at: bigint
  readonly revoked_at: bigint | null
  readonly used_at: bigint | null
  readonly account_id: string | null
}

const instant = (value: bigint | null): number | null => (value === null ? null : Number(value))

const invitationOf = (row: Row): Invitation => ({
  id: row.id,
  email: row.email,
  creditMicroUsd: BigInt(row.credit_micro_usd),
  createdAt: Number(row.created_at),
  expiresAt: Number(row.expires_at),
  revokedAt: instant(row.revoked_at),
  usedAt: instant(row.used_at),
  accountId: row.account_id
})

const columns = "id, email, credit_micro_usd, created_at, expires_at, revoked_at, used_at, account_id"

export class Invitations extends Context.Service<
  Invitations,
  {
    /** `code` is known here and never again. */
    readonly create: (options: {
      readonly email: string | null
      readonly creditMicroUsd: bigint
      readonly expiresAt: number
    }) => Effect.Effect<{ readonly invitation: Invitation; readonly code: string }>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Invitation>>
    /** It can be used no more. A used one stays as it is. Null: there is none. */
    readonly revoke: (invitationId: string) => Effect.Effect<Invitation | null>
    /** The open one with this code. Within a transaction it is this transaction's alone until its end. */
    readonly find: (code: string) => Effect.Effect<Invitation | null>
    /** In the transaction that makes the account. */
    readonly use: (invitationId: string, accountId: string) => Effect.Effect<void>
  }
>()("atoll/console/Invitations") {
  static readonly layer = Layer.effect(
    Invitations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const create = Effect.fn("Invitations.create")(function* (options: {
        readonly email: string | null
        readonly creditMicroUsd: bigint
        readonly expiresAt: number
      }) {
        const code = newToken()
        const [row] = yield* sql.unsafe<Row>(
          `insert into invitations (id, code_sha256, email, credit_micro_usd, created_at, expires_at)
           values ($1, $2, $3, $4, $5, $6) returning ${columns}`,
          [
            newId("inv_"),
            sha256Of(code),
            options.email,
            options.creditMicroUsd,
            BigInt(yield* Clock.currentTimeMillis),
            BigInt(options.expiresAt)
          ]
        )
        return { invitation: invitationOf(row!), code }
      }, Effect.orDie)

      const list = sql.unsafe<Row>(`select ${columns} from invitations order by id`).pipe(
        Effect.map((rows) => rows.map(invitationOf)),
        Effect.orDie
      )

      const revoke = Effect.fn("Invitations.revoke")(function* (invitationId: string) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        const [row] = yield* sql.unsafe<Row>(
          `update invitations set revoked_at = case when used_at is null then coalesce(revoked_at, $2) else revoked_at end
           where id = $1 returning ${columns}`,
          [invitationId, now]
        )
        return row === undefined ? null : invitationOf(row)
      }, Effect.orDie)

      const find = Effect.fn("Invitations.find")(function* (code: string) {
        if (!isToken(code)) return null
        const [row] = yield* sql.unsafe<Row>(`select ${columns} from invitations where code_sha256 = $1 for update`, [
          sha256Of(code)
        ])
        if (row === undefined) return null
        const invitation = invitationOf(row)
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
