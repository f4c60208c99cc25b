/**
 * Sessions of people: opened, looked up by token, ended. A session ends after 30 days, after 12 hours without use
 * (recorded with a resolution of a minute, so it never ends late), or on request.
 *
 * A read is a lease, as for a key (`account/KeyLease.ts`): ending a session waits until no process uses an older read.
 *
 * @source contract-details.md "The console and registration"
 */
import { Clock, Context, Effect, Layer, Option, Schedule, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { scopes } from "../../../schemas/Access.ts"
import { Unauthenticated } from "../../../schemas/Errors.ts"
import { heldUserAgent } from "../../account/Audit.ts"
import type { Credential } from "../../account/Authentication.ts"
import { awaitLeases, leaseClock, leaseMs } from "../../account/KeyLease.ts"
import { keyLookUps } from "../../account/KeyLookUps.ts"
import { newId } from "../../platform/identifier/newId.ts"
import { worker } from "../../platform/worker/Worker.ts"
import { BoundedMap } from "../../store/BoundedMap.ts"
import { Int8 } from "../../store/Columns.ts"
import { MaintenanceDatabase } from "../../store/Database.ts"
import { forgetOver } from "./operatorAges.ts"
import { isToken, newToken, sha256Of } from "./Token.ts"

export const sessionMaxMs = 30 * 24 * 60 * 60 * 1000
export const idleMaxMs = 12 * 60 * 60 * 1000
/** A use is stored only if the last stored one is older than this: at most one write a minute for a session. */
const writtenEveryMs = 60_000
const leasesMax = 10_000
const pruneEvery = "1 hour"

const openings = ["registration", "passphrase", "link"] as const
export type OpenedBy = (typeof openings)[number]

/** The client, according to its connection and request. */
export interface Visitor {
  readonly address: string
  readonly userAgent: string | null
}

export interface Session {
  readonly id: string
  readonly accountId: string
  readonly openedBy: OpenedBy
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
  account_id: Schema.String,
  opened_by: Schema.Literals(openings),
  created_at: Int8,
  last_used_at: Int8,
  source_ip: Schema.String,
  user_agent: Schema.NullOr(Schema.String)
})

const endOf = (createdAt: number, lastUsedAt: number): number =>
  Math.min(createdAt + sessionMaxMs, lastUsedAt + idleMaxMs)

const sessionOf = (row: typeof Row.Type): Session => ({
  id: row.id,
  accountId: row.account_id,
  openedBy: row.opened_by,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  endsAt: endOf(row.created_at, row.last_used_at),
  sourceIp: row.source_ip,
  userAgent: row.user_agent
})

/** All columns except the token's hash. */
const columns = Object.keys(Row.fields).join(", ")

/** Condition for an active session. $2: the latest `created_at`, $3: the latest `last_used_at` of an ended one. */
const lives = "ended_at is null and created_at > $2 and last_used_at > $3"

interface Found {
  readonly credential: Credential
  /** Regardless of further use. */
  readonly endsAt: number
}

/** Read before a request, once for each lease of each session: no schema checks it. */
interface FoundRow {
  readonly token_sha256: string
  readonly id: string
  readonly account_id: string
  readonly created_at: bigint
  readonly is_suspended: boolean
  readonly exhausted_at: bigint | null
}

/** All scopes: a person may do everything that the account may. */
const allScopes: ReadonlySet<string> = new Set(scopes)

const foundOf = (row: FoundRow): Found => ({
  credential: {
    source: "console",
    apiKeyId: null,
    sessionId: row.id,
    accountId: row.account_id,
    hint: null,
    name: null,
    scopes: allScopes,
    expiresAt: null,
    isSuspended: row.is_suspended,
    exhaustedAt: row.exhausted_at === null ? null : Number(row.exhausted_at)
  },
  endsAt: Number(row.created_at) + sessionMaxMs
})

const over = () => new Unauthenticated({ message: "The session does not exist or has ended. Sign in." })

export class Sessions extends Context.Service<
  Sessions,
  {
    /** `token` is available only here and in the browser. Part of the caller's transaction, if there is one. */
    readonly open: (
      accountId: string,
      openedBy: OpenedBy,
      visitor: Visitor
    ) => Effect.Effect<{ readonly session: Session; readonly token: string }>
    /** The active session with this token, regardless of its account's state; counts as a use. */
    readonly authenticate: (token: string) => Effect.Effect<Credential, Unauthenticated>
    /** The same by the session's id: reads the database and is no use. Null: the session has ended. */
    readonly credential: (sessionId: string) => Effect.Effect<Credential | null>
    /** An account's active sessions, the latest first. */
    readonly list: (accountId: string) => Effect.Effect<ReadonlyArray<Session>>
    readonly get: (sessionId: string) => Effect.Effect<Session | null>
    /** When it returns, no process accepts the session any more. False: the account has no such active session. */
    readonly end: (accountId: string, sessionId: string) => Effect.Effect<boolean>
    /** Ends all of the account's sessions except one, in the caller's transaction; the caller also runs `awaitLeases`. */
    readonly endAll: (accountId: string, except: string | null) => Effect.Effect<void>
  }
>()("atoll/console/server/Sessions") {
  static readonly layer = Layer.effect(
    Sessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const maintenance = yield* MaintenanceDatabase
      /** By the token's SHA-256. */
      const leases = new BoundedMap<string, Found & { readonly since: number }>(leasesMax)

      const read = Effect.fnUntraced(function* (hashes: ReadonlyArray<string>) {
        const since = leaseClock()
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql.unsafe<FoundRow>(
          `with used as (
             update sessions set last_used_at = $4
             where token_sha256 in (
               select token_sha256 from sessions
               where token_sha256 = any($1::text[]) and ${lives} and last_used_at < $5 for update skip locked))
           select s.token_sha256, s.id, s.account_id, s.created_at, a.suspended_at is not null as is_suspended, a.exhausted_at
           from sessions s join accounts a on a.id = s.account_id
           where s.token_sha256 = any($1::text[]) and s.ended_at is null and s.created_at > $2 and s.last_used_at > $3`,
          [
            hashes as Array<string>,
            BigInt(now - sessionMaxMs),
            BigInt(now - idleMaxMs),
            BigInt(now),
            BigInt(now - writtenEveryMs)
          ]
        )
        const found = new Map(rows.map((row): [string, Found] => [row.token_sha256, foundOf(row)]))
        for (const sha256 of hashes) {
          const one = found.get(sha256)
          if (one === undefined) leases.delete(sha256)
          else leases.set(sha256, { ...one, since })
        }
        return found
      }, Effect.orDie)

      // Lookups of known sessions do not queue behind guesses.
      const ofKnown = yield* keyLookUps(read)
      const ofUnknown = yield* keyLookUps(read)

      const living = (found: Found | undefined): Effect.Effect<Credential, Unauthenticated> =>
        found === undefined
          ? Effect.fail(over())
          : Effect.flatMap(Clock.currentTimeMillis, (now) =>
              now < found.endsAt ? Effect.succeed(found.credential) : Effect.fail(over())
            )

      const authenticate = (token: string) => {
        if (!isToken(token)) return Effect.fail(over())
        const sha256 = sha256Of(token)
        const lease = leases.get(sha256)
        if (lease !== undefined && leaseClock() - lease.since < leaseMs) return living(lease)
        return Effect.flatMap((lease === undefined ? ofUnknown : ofKnown)(sha256), living)
      }

      const credential = Effect.fn("Sessions.credential")(function* (sessionId: string) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql.unsafe<FoundRow>(
          `select s.token_sha256, s.id, s.account_id, s.created_at, a.suspended_at is not null as is_suspended, a.exhausted_at
           from sessions s join accounts a on a.id = s.account_id
           where s.id = $1 and s.ended_at is null and s.created_at > $2 and s.last_used_at > $3`,
          [sessionId, BigInt(now - sessionMaxMs), BigInt(now - idleMaxMs)]
        )
        return rows[0] === undefined ? null : foundOf(rows[0]).credential
      }, Effect.orDie)

      const insertRow = SqlSchema.findOne({
        Request: Schema.Struct({
          id: Schema.String,
          sha256: Schema.String,
          accountId: Schema.String,
          openedBy: Schema.Literals(openings),
          now: Int8,
          address: Schema.String,
          userAgent: Schema.NullOr(Schema.String)
        }),
        Result: Row,
        execute: ({ id, sha256, accountId, openedBy, now, address, userAgent }) => sql`
          insert into sessions (id, token_sha256, account_id, opened_by, created_at, last_used_at, source_ip, user_agent)
          values (${id}, ${sha256}, ${accountId}, ${openedBy}, ${now}, ${now}, ${address}, ${userAgent})
          returning ${sql.literal(columns)}`
      })

      const open = Effect.fn("Sessions.open")(function* (accountId: string, openedBy: OpenedBy, visitor: Visitor) {
        const token = newToken()
        const row = yield* insertRow({
          id: newId("ses_"),
          sha256: sha256Of(token),
          accountId,
          openedBy,
          now: yield* Clock.currentTimeMillis,
          address: visitor.address,
          userAgent: heldUserAgent(visitor.userAgent)
        })
        return { session: sessionOf(row), token }
      }, Effect.orDie)

      const findLiving = SqlSchema.findAll({
        Request: Schema.Tuple([Schema.String, Int8, Int8]),
        Result: Row,
        execute: (request) =>
          sql.unsafe(
            `select ${columns} from sessions where account_id = $1 and ${lives} order by created_at desc, id desc`,
            request
          )
      })

      const list = Effect.fn("Sessions.list")(function* (accountId: string) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* findLiving([accountId, now - sessionMaxMs, now - idleMaxMs])
        return rows.map(sessionOf)
      }, Effect.orDie)

      const findById = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Row,
        execute: (sessionId) => sql`select ${sql.literal(columns)} from sessions where id = ${sessionId}`
      })

      const get = Effect.fn("Sessions.get")(function* (sessionId: string) {
        return Option.getOrNull(Option.map(yield* findById(sessionId), sessionOf))
      }, Effect.orDie)

      const end = Effect.fn("Sessions.end")(function* (accountId: string, sessionId: string) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql.unsafe(
          `update sessions set ended_at = $4 where account_id = $1 and ${lives} and id = $5 returning id`,
          [accountId, BigInt(now - sessionMaxMs), BigInt(now - idleMaxMs), BigInt(now), sessionId]
        )
        // One that has ended before, too: by a call whose answer was lost, and leases of it may be left.
        yield* awaitLeases
        return rows.length > 0
      }, Effect.orDie)

      const endAll = Effect.fn("Sessions.endAll")(function* (accountId: string, except: string | null) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        yield* sql`
          update sessions set ended_at = ${now}
          where account_id = ${accountId} and ended_at is null and id <> ${except ?? ""}`
      }, Effect.orDie)

      const prune = Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        yield* maintenance`delete from sessions where created_at < ${BigInt(now - sessionMaxMs)}`
        yield* maintenance`delete from sign_in_links where expires_at < ${BigInt(now)}`
        yield* forgetOver(maintenance, now)
      }).pipe(Effect.catch((error) => Effect.logWarning("Could not delete ended sessions", error)))

      yield* worker("session pruner", prune.pipe(Effect.repeat(Schedule.spaced(pruneEvery))))

      return { open, authenticate, credential, list, get, end, endAll }
    })
  )
}
