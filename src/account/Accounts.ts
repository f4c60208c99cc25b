/** Accounts. They are made by the operator: on the command line, or by the bootstrap key. */
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { newId } from "../identifier/newId.ts"

export interface Account {
  readonly id: string
  readonly name: string
  readonly email: string | null
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export class AccountExists extends Schema.TaggedError<AccountExists>()("AccountExists", { name: Schema.String }) {
  override get message(): string {
    return `There is already an account named ${JSON.stringify(this.name)}.`
  }
}

interface Row {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly created_at: bigint
}

const accountOf = (row: Row): Account => ({
  id: row.id,
  name: row.name,
  email: row.email,
  createdAt: Number(row.created_at)
})

export class Accounts extends Context.Service<
  Accounts,
  {
    readonly get: (accountId: string) => Effect.Effect<Account | null>
    /** Names are unique. */
    readonly create: (options: {
      readonly name: string
      readonly email: string | null
    }) => Effect.Effect<Account, AccountExists>
    /** The account of this name, made if there is none. */
    readonly named: (name: string) => Effect.Effect<Account>
    /** Oldest first. */
    readonly list: Effect.Effect<ReadonlyArray<Account>>
  }
>()("atoll/account/Accounts") {
  static readonly layer = Layer.effect(
    Accounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const insert = Effect.fnUntraced(function* (name: string, email: string | null) {
        const now = yield* Clock.currentTimeMillis
        const rows = yield* sql<Row>`
          insert into accounts (id, name, email, created_at)
          values (${newId("acc_")}, ${name}, ${email}, ${BigInt(now)})
          on conflict (name) do nothing
          returning *`
        return rows[0] === undefined ? null : accountOf(rows[0])
      })

      const create = Effect.fn("Accounts.create")(function* (options: {
        readonly name: string
        readonly email: string | null
      }) {
        const made = yield* Effect.orDie(insert(options.name, options.email))
        return made ?? (yield* new AccountExists({ name: options.name }))
      })

      const named = Effect.fn("Accounts.named")(function* (name: string) {
        const made = yield* insert(name, null)
        if (made !== null) return made
        const rows = yield* sql<Row>`select * from accounts where name = ${name}`
        return accountOf(rows[0]!)
      }, Effect.orDie)

      const get = Effect.fn("Accounts.get")(function* (accountId: string) {
        const rows = yield* sql<Row>`select * from accounts where id = ${accountId}`
        return rows[0] === undefined ? null : accountOf(rows[0])
      }, Effect.orDie)

      const list = sql<Row>`select * from accounts order by id`.pipe(
        Effect.map((rows) => rows.map(accountOf)),
        Effect.orDie
      )

      return { get, create, named, list }
    })
  )
}
