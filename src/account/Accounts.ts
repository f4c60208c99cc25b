/** Accounts. They are made by the operator: on the command line, or by the bootstrap key. */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { newId } from "../identifier/newId.ts"
import { nudgeWallet } from "../wallet/nudge.ts"
import { type LimitsRow, type OwnLimits, ownLimitsOf } from "./AccountLimits.ts"
import { awaitLeases } from "./KeyLease.ts"

/** unlimited: what it uses is recorded, and nothing is refused for want of credit. prepaid: it can use what it has credit for. */
export const billings = ["unlimited", "prepaid"] as const
export type Billing = (typeof billings)[number]

export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly billing: Billing
  readonly limits: OwnLimits
  /** Epoch milliseconds; null: it is not suspended. */
  readonly suspendedAt: number | null
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export class AccountExists extends Schema.TaggedError<AccountExists>()("AccountExists", { name: Schema.String }) {
  override get message(): string {
    return `There is already an account named ${JSON.stringify(this.name)}.`
  }
}

interface Row extends LimitsRow {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly billing: Billing
  readonly suspended_at: bigint | null
  readonly created_at: bigint
}

const accountOf = (row: Row): Account => ({
  id: row.id,
  name: row.name,
  email: row.email,
  billing: row.billing,
  limits: ownLimitsOf(row),
  suspendedAt: row.suspended_at === null ? null : Number(row.suspended_at),
  createdAt: Number(row.created_at)
})

const firstOf = (rows: ReadonlyArray<Row>): Account | null => (rows[0] === undefined ? null : accountOf(rows[0]))

export class Accounts extends Context.Service<
  Accounts,
  {
    readonly get: (accountId: string) => Effect.Effect<Account | null>
    /** By its name, or else by its id. */
    readonly find: (nameOrId: string) => Effect.Effect<Account | null>
    /** Names are unique. A prepaid one has no credit yet. */
    readonly create: (options: {
      readonly name: string
      readonly email: string | null
      readonly billing?: Billing
    }) => Effect.Effect<Account, AccountExists>
    /** The account of this name, made (unlimited) if there is none. */
    readonly named: (name: string) => Effect.Effect<Account & { readonly isNew: boolean }>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
    /**
     * When it returns, every process refuses each of the account's keys; its wallet was told to stop its Sandboxes.
     * Repeated: it stays suspended since when it was. Null: there is no such account.
     */
    readonly suspend: (accountId: string) => Effect.Effect<Account | null>
    /** When it returns, every process accepts its keys again. Its Sandboxes stay as they are. */
    readonly resume: (accountId: string) => Effect.Effect<Account | null>
    /** Those that are named; null: as the settings say from now on. What is already more than a limit stays. */
    readonly setLimits: (accountId: string, limits: Partial<OwnLimits>) => Effect.Effect<Account | null>
  }
>()("atoll/account/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fnUntraced(function* (name: string, email: string | null, billing: Billing) {
        const now = BigInt(yield* Clock.currentTimeMillis)
        const rows = yield* sql<Row>`
          insert into accounts (id, name, email, created_at, billing, exhausted_at)
          values (${newId("acc_")}, ${name}, ${email}, ${now}, ${billing}, ${billing === "prepaid" ? now : null})
          on conflict (name) do nothing
          returning *`
        return firstOf(rows)
      })

      const create = Effect.fn("Accounts.create")(function* (options: {
        readonly name: string
        readonly email: string | null
        readonly billing?: Billing
      }) {
        const made = yield* Effect.orDie(insert(options.name, options.email, options.billing ?? "unlimited"))
        return made ?? (yield* new AccountExists({ name: options.name }))
      })

      const named = Effect.fn("Accounts.named")(function* (name: string) {
        const made = yield* insert(name, null, "unlimited")
        if (made !== null) return { ...made, isNew: true }
        const rows = yield* sql<Row>`select * from accounts where name = ${name}`
        return { ...accountOf(rows[0]!), isNew: false }
      }, Effect.orDie)

      const get = Effect.fn("Accounts.get")(function* (accountId: string) {
        const rows = yield* sql<Row>`select * from accounts where id = ${accountId}`
        return firstOf(rows)
      }, Effect.orDie)

      const find = Effect.fn("Accounts.find")(function* (nameOrId: string) {
        const rows = yield* sql<Row>`
          select * from accounts where name = ${nameOrId} or id = ${nameOrId} order by name = ${nameOrId} desc limit 1`
        return firstOf(rows)
      }, Effect.orDie)

      const list = sql<Row>`select * from accounts order by id`.pipe(
        Effect.map((rows) => rows.map(accountOf)),
        Effect.orDie
      )

      /** @param suspendedAt An instant that does not replace an earlier one, or null. */
      const setSuspended = (accountId: string, suspendedAt: bigint | null) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              const rows = yield* sql<Row>`
                update accounts set suspended_at = case when ${suspendedAt}::int8 is null then null
                                                        else coalesce(suspended_at, ${suspendedAt}::int8) end
                where id = ${accountId} returning *`
              if (rows[0] !== undefined) yield* nudgeWallet(sql, accountId)
              return firstOf(rows)
            })
          )
          .pipe(Effect.tap((account) => (account === null ? Effect.void : awaitLeases)))

      const suspend = Effect.fn("Accounts.suspend")(function* (accountId: string) {
        return yield* setSuspended(accountId, BigInt(yield* Clock.currentTimeMillis))
      }, Effect.orDie)

      const resume = Effect.fn("Accounts.resume")(function* (accountId: string) {
        return yield* setSuspended(accountId, null)
      }, Effect.orDie)

      const setLimits = Effect.fn("Accounts.setLimits")(function* (accountId: string, limits: Partial<OwnLimits>) {
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            const [before] = yield* sql<Row>`select * from accounts where id = ${accountId} for no key update`
            if (before === undefined) return null
            const { workspaces, sandboxes, workspaceStorageBytes } = { ...ownLimitsOf(before), ...limits }
            const rows = yield* sql<Row>`
              update accounts set workspaces_limit = ${workspaces}, sandboxes_limit = ${sandboxes},
                workspace_storage_bytes_limit = ${workspaceStorageBytes === null ? null : BigInt(workspaceStorageBytes)}
              where id = ${accountId} returning *`
            return accountOf(rows[0]!)
          })
        )
      }, Effect.orDie)

      return { get, find, create, named, list, suspend, resume, setLimits }
    })
  )
}
