/**
 * The operator's sessions. A link of the command line opens a session; it works once, within ten minutes. A session ends after 12 hours, after
 * an hour without use (recorded with a resolution of a minute, so it never ends late), or on request.
 *
 * There are few of them, so each request reads its session from the database: an end takes effect immediately, in every process.
 */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { type RateLimited, Unauthenticated } from "../../../schemas/Errors.ts"
import { heldUserAgent } from "../../account/Audit.ts"
import { newId } from "../../platform/identifier/newId.ts"
import { changeBegins } from "../../store/Change.ts"
import { Int8 } from "../../store/Columns.ts"
import { Attempts, addressRate, addressSubject } from "./Attempts.ts"
import { forgetOver, isOver, operatorLinkValidMs, operatorSessionEnd } from "./operatorAges.ts"
import type { Visitor } from "./Sessions.ts"
import { isToken, newToken, sha256Of } from "./Token.ts"

/** A use is stored only if the last stored one is older than this. */
const writtenEveryMs = 60_000

export interface OperatorSession {
  readonly id: string
  /** Epoch milliseconds, like the others. */
  readonly createdAt: number
  readonly lastUsedAt: number
  /** When it ends without further use. */
  readonly endsAt: number
  readonly sourceIp: string
  readonly userAgent: string | null
}

const Row = Schema.Struct({
  id: Schema.String,
  created_at: Int8,
  last_used_at: Int8,
  source_ip: Schema.String,
  user_agent: Schema.NullOr(Schema.String)
})

/** All columns except the token's hash. */
const columns = Object.keys(Row.fields).join(", ")

const sessionOf = (row: typeof Row.Type): OperatorSession => ({
  id: row.id,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  endsAt: operatorSessionEnd(row.created_at, row.last_used_at),
  sourceIp: row.source_ip,
  userAgent: row.user_agent
})

const over = () =>
  new Unauthenticated({
    message: "This operator's session does not exist or has ended. Sign in with another link."
  })

export class OperatorSessions extends Context.Service<
  OperatorSessions,
  {
    /** `code` is available only here. */
    readonly createLink: Effect.Effect<{ readonly code: string; readonly expiresAt: number }>
    /** Consumes a link. `token` is available only here and in the browser. */
    readonly enter: (
      code: string,
      visitor: Visitor
    ) => Effect.Effect<
      { readonly session: OperatorSession; readonly token: string },
      Unauthenticated | RateLimited,
      Attempts
    >
    /** The active session with this token; counts as a use. */
    readonly authenticate: (token: string) => Effect.Effect<OperatorSession, Unauthenticated>
    /** Active sessions, the latest first. */
    readonly list: Effect.Effect<ReadonlyArray<OperatorSession>>
    readonly end: (sessionId: string) => Effect.Effect<void>
    /** Ends all sessions and deletes unused links. Returns the number of ended sessions. */
    readonly endAll: Effect.Effect<number>
  }
>()("atoll/console/server/OperatorSessions") {
  static readonly layer = Layer.effect(
    OperatorSessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shown = sql.literal(columns)

      const createLink = Effect.gen(function* () {
        const code = newToken()
        const expiresAt = (yield* Clock.currentTimeMillis) + operatorLinkValidMs
        yield* sql`insert into operator_links (code_sha256, expires_at) values (${sha256Of(code)}, ${BigInt(expiresAt)})`
        return { code, expiresAt }
      }).pipe(Effect.orDie, Effect.withSpan("OperatorSessions.createLink"))

      /** One statement for both: a consumed link has opened a session. */
      const openRow = SqlSchema.findOneOption({
        Request: Schema.Struct({
          code: Schema.String,
          id: Schema.String,
          token: Schema.String,
          now: Int8,
          address: Schema.String,
          userAgent: Schema.NullOr(Schema.String)
        }),
        Result: Row,
        execute: ({ code, id, token, now, address, userAgent }) => sql`
          with used as (delete from operator_links where code_sha256 = ${code} and expires_at > ${now} returning 1)
          insert into operator_sessions (id, token_sha256, created_at, last_used_at, source_ip, user_agent)
          select ${id}, ${token}, ${now}::int8, ${now}::int8, ${address}, ${userAgent}::text from used
          returning ${shown}`
      })

      const enter = Effect.fn("OperatorSessions.enter")(function* (code: string, visitor: Visitor) {
        yield* (yield* Attempts).take(addressSubject(visitor.address), addressRate)
        yield* changeBegins
        const token = newToken()
        const opened = isToken(code)
          ? yield* openRow({
              code: sha256Of(code),
              id: newId("ops_"),
              token: sha256Of(token),
              now: yield* Clock.currentTimeMillis,
              address: visitor.address,
              userAgent: heldUserAgent(visitor.userAgent)
            }).pipe(Effect.orDie)
          : Option.none()
        if (Option.isNone(opened)) {
          return yield* new Unauthenticated({
            message: "This link is invalid, expired or already used. The command line prints another one."
          })
        }
        return { session: sessionOf(opened.value), token }
      })

      const findLiving = SqlSchema.findOneOption({
        Request: Schema.Struct({ token: Schema.String, now: Schema.Int }),
        Result: Row,
        execute: ({ token, now }) => sql`
          with used as (
            update operator_sessions set last_used_at = ${BigInt(now)}
            where token_sha256 = ${token} and not ${isOver(sql, now)} and last_used_at < ${BigInt(now - writtenEveryMs)})
          select ${shown} from operator_sessions where token_sha256 = ${token} and not ${isOver(sql, now)}`
      })

      const authenticate = Effect.fn("OperatorSessions.authenticate")(function* (token: string) {
        if (!isToken(token)) return yield* over()
        const now = yield* Clock.currentTimeMillis
        const found = yield* Effect.orDie(findLiving({ token: sha256Of(token), now }))
        return Option.isNone(found) ? yield* over() : sessionOf(found.value)
      })

      const findAll = SqlSchema.findAll({
        Request: Schema.Int,
        Result: Row,
        execute: (now) =>
          sql`select ${shown} from operator_sessions where not ${isOver(sql, now)} order by created_at desc, id desc`
      })

      const list = Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.orDie(findAll(now))).pipe(
        Effect.map((rows) => rows.map(sessionOf))
      )

      const end = Effect.fn("OperatorSessions.end")(
        (sessionId: string) => sql`delete from operator_sessions where id = ${sessionId}`,
        Effect.orDie,
        Effect.asVoid
      )

      const endAll = sql
        .withTransaction(
          Effect.gen(function* () {
            yield* forgetOver(sql, yield* Clock.currentTimeMillis)
            yield* sql`delete from operator_links`
            return (yield* sql`delete from operator_sessions returning id`).length
          })
        )
        .pipe(Effect.orDie, Effect.withSpan("OperatorSessions.endAll"))

      return { createLink, enter, authenticate, list, end, endAll }
    })
  )
}
