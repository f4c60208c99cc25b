/**
 * Tickets: a page cannot set headers when it opens a WebSocket or lets the browser save a file, and its cookie alone must not open anything. So it
 * requests a ticket, which stands for its session once, within half a minute. A WebSocket carries it as a subprotocol, which no log contains. In the
 * address of a download it is valid only together with the cookie.
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Unauthenticated } from "../../../schemas/Errors.ts"
import type { Credential } from "../../account/Authentication.ts"
import { Int8 } from "../../store/Columns.ts"
import { Sessions } from "./Sessions.ts"
import { isToken, newToken, sha256Of } from "./Token.ts"

export const ticketValidMs = 30_000

const unusable = () =>
  new Unauthenticated({
    message: "This ticket is invalid, expired or already used. Request another one, and use it immediately."
  })

export class Tickets extends Context.Service<
  Tickets,
  {
    /** `ticket` is available only here. */
    readonly create: (sessionId: string) => Effect.Effect<{ readonly ticket: string; readonly expiresAt: number }>
    /** Consumes the ticket and returns its session, if that is active. */
    readonly redeem: (ticket: string) => Effect.Effect<Credential, Unauthenticated>
  }
>()("atoll/console/server/Tickets") {
  static readonly layer = Layer.effect(
    Tickets,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const sessions = yield* Sessions

      const create = Effect.fn("Tickets.create")(function* (sessionId: string) {
        const ticket = newToken()
        const now = yield* Clock.currentTimeMillis
        const expiresAt = now + ticketValidMs
        yield* sql`delete from tickets where expires_at <= ${BigInt(now)}`
        yield* sql`
          insert into tickets (ticket_sha256, session_id, expires_at)
          values (${sha256Of(ticket)}, ${sessionId}, ${BigInt(expiresAt)})`
        return { ticket, expiresAt }
      }, Effect.orDie)

      const takeOut = SqlSchema.findOneOption({
        Request: Schema.Struct({ sha256: Schema.String, now: Int8 }),
        Result: Schema.Struct({ session_id: Schema.String }),
        execute: ({ sha256, now }) => sql`
          delete from tickets where ticket_sha256 = ${sha256} and expires_at > ${now} returning session_id`
      })

      const redeem = Effect.fn("Tickets.redeem")(function* (ticket: string) {
        if (!isToken(ticket)) return yield* unusable()
        const taken = yield* Effect.orDie(takeOut({ sha256: sha256Of(ticket), now: yield* Clock.currentTimeMillis }))
        const credential = Option.isNone(taken) ? null : yield* sessions.credential(taken.value.session_id)
        return credential ?? (yield* unusable())
      })

      return { create, redeem }
    })
  )
}
