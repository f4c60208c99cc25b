/** Accounts. The operator creates them: on the command line, or with the bootstrap key. */
import { Clock, Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { newId } from "../platform/identifier/newId.ts"
import { Int8 } from "../store/Columns.ts"
import { notifyWallet } from "../wallet/notifyWallet.ts"
import { LimitsRow, type OwnLimits, ownLimitsOf } from "./AccountLimits.ts"
import { awaitLeases } from "./KeyLease.ts"

/** unlimited: usage is recorded, and no request is refused for lack of credit. prepaid: usage is limited to the account's credit. */
export const billings = ["unlimited", "prepaid"] as const
export type Billing = (typeof billings)[number]

export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly billing: Billing
  readonly limits: OwnLimits
  /** Epoch milliseconds; null: not suspended. */
  readonly suspendedAt: number | null
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export class AccountExists extends Schema.TaggedError<AccountExists>()("AccountExists", { name: Schema.String }) {
  override get message(): string {
    return `There is already an account named ${JSON.stringify(this.name)}.`
  }
}

/** Columns of `accounts`. */
export const AccountRow = Schema.Struct({
  ...LimitsRow.fields,
  id: Schema.String,
  name: Schema.String,
  email: Schema.NullOr(Schema.String),
  billing: Schema.Literals(billings),
  suspended_at: Schema.NullOr(Int8),
  created_at: Int8
})

export const accountOf = (row: typeof AccountRow.Type): Account => ({
  id: row.id,
  name: row.name,
  email: row.email,
  billing: row.billing,
  limits: ownLimitsOf(row),
  suspendedAt: row.suspended_at,
  createdAt: row.created_at
})

const firstOf = (row: Option.Option<typeof AccountRow.Type>): Account | null =>
  Option.getOrNull(Option.map(row, accountOf))

export class Accounts extends Context.Service<
  Accounts,
  {
    readonly get: (accountId: string) => Effect.Effect<Account | null>
    /** Finds an account by its name, else by its id. */
    readonly find: (nameOrId: string) => Effect.Effect<Account | null>
    /** Names are unique. A new prepaid account has no credit. */
    readonly create: (options: {
      readonly name: string
      readonly email: string | null
      readonly billing?: Billing
    }) => Effect.Effect<Account, AccountExists>
    /** The account of this name; created (unlimited) if there is none. */
    readonly named: (name: string) => Effect.Effect<Account & { readonly isNew: boolean }>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
    /**
     * When it returns, every process refuses each of the account's keys, and its wallet has been told to stop its Sandboxes.
     * A repetition keeps the first date. Null: there is no such account.
     */
    readonly suspend: (accountId: string) => Effect.Effect<Account | null>
    /** When it returns, every process accepts the account's keys again. Its Sandboxes are unchanged. */
    readonly resume: (accountId: string) => Effect.Effect<Account | null>
    /** Sets the given limits; null: the setting applies from now on. Existing resources above a limit stay. */
    readonly setLimits: (accountId: string, limits: Partial<OwnLimits>) => Effect.Effect<Account | null>
  }
>()("atoll/account/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insertRow = SqlSchema.findOneOption({
        Request: Schema.Struct({
          id: Schema.String,
          name: Schema.String,
          email: Schema.NullOr(Schema.String),
          billing: Schema.Literals(billings),
          now: Int8
        }),
        Result: AccountRow,
        execute: ({ id, name, email, billing, now }) => sql`
          insert into accounts (id, name, email, created_at, billing, exhausted_at)
          values (${id}, ${name}, ${email}, ${now}, ${billing}, ${billing === "prepaid" ? now : null})
          on conflict (name) do nothing
          returning *`
      })

      const insert = Effect.fnUntraced(function* (name: string, email: string | null, billing: Billing) {
        const now = yield* Clock.currentTimeMillis
        return firstOf(yield* insertRow({ id: newId("acc_"), name, email, billing, now }))
      })

      const findNamed = SqlSchema.findOne({
        Request: Schema.String,
        Result: AccountRow,
        execute: (name) => sql`select * from accounts where name = ${name}`
      })

      const findById = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: AccountRow,
        execute: (accountId) => sql`select * from accounts where id = ${accountId}`
      })

      const findByEither = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: AccountRow,
        execute: (nameOrId) => sql`
          select * from accounts where name = ${nameOrId} or id = ${nameOrId} order by name = ${nameOrId} desc limit 1`
      })

      const findAll = SqlSchema.findAll({
        Request: Schema.Void,
        Result: AccountRow,
        execute: () => sql`select * from accounts order by id`
      })

      const updateSuspended = SqlSchema.findOneOption({
        Request: Schema.Struct({ accountId: Schema.String, suspendedAt: Schema.NullOr(Int8) }),
        Result: AccountRow,
        execute: ({ accountId, suspendedAt }) => sql`
          update accounts set suspended_at = case when ${suspendedAt}::int8 is null then null
                                                  else coalesce(suspended_at, ${suspendedAt}::int8) end
          where id = ${accountId} returning *`
      })

      const lock = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: AccountRow,
        execute: (accountId) => sql`select * from accounts where id = ${accountId} for no key update`
      })

      const updateLimits = SqlSchema.findOne({
        Request: Schema.Struct({
          accountId: Schema.String,
          workspaces: Schema.NullOr(Schema.Int),
          sandboxes: Schema.NullOr(Schema.Int),
          workspaceStorageBytes: Schema.NullOr(Int8)
        }),
        Result: AccountRow,
        execute: ({ accountId, workspaces, sandboxes, workspaceStorageBytes }) => sql`
          update accounts set workspaces_limit = ${workspaces}, sandboxes_limit = ${sandboxes},
            workspace_storage_bytes_limit = ${workspaceStorageBytes}
          where id = ${accountId} returning *`
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
        return { ...accountOf(yield* findNamed(name)), isNew: false }
      }, Effect.orDie)

      const get = Effect.fn("Accounts.get")(function* (accountId: string) {
        return firstOf(yield* findById(accountId))
      }, Effect.orDie)

      const find = Effect.fn("Accounts.find")(function* (nameOrId: string) {
        return firstOf(yield* findByEither(nameOrId))
      }, Effect.orDie)

      const list = Effect.suspend(() => findAll()).pipe(
        Effect.map((rows) => rows.map(accountOf)),
        Effect.orDie
      )

      /** @param suspendedAt A date that does not replace an earlier one, or null. */
      const setSuspended = (accountId: string, suspendedAt: number | null) =>
        sql
          .withTransaction(
            Effect.gen(function* () {
              const account = firstOf(yield* updateSuspended({ accountId, suspendedAt }))
              if (account !== null) yield* notifyWallet(sql, accountId)
              return account
            })
          )
          .pipe(Effect.tap((account) => (account === null ? Effect.void : awaitLeases)))

      const suspend = Effect.fn("Accounts.suspend")(function* (accountId: string) {
        return yield* setSuspended(accountId, yield* Clock.currentTimeMillis)
      }, Effect.orDie)

      const resume = Effect.fn("Accounts.resume")(function* (accountId: string) {
        return yield* setSuspended(accountId, null)
      }, Effect.orDie)

      const setLimits = Effect.fn("Accounts.setLimits")(function* (accountId: string, limits: Partial<OwnLimits>) {
        return yield* sql.withTransaction(
          Effect.gen(function* () {
            const before = firstOf(yield* lock(accountId))
            if (before === null) return null
            return accountOf(yield* updateLimits({ accountId, ...before.limits, ...limits }))
          })
        )
      }, Effect.orDie)

      return { get, find, create, named, list, suspend, resume, setLimits }
    })
  )
}
