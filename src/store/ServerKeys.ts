/** Secrets of the server itself: created once, the same for every process and after every restart. */
import { randomBytes } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"

const keyBytes = 32

/** The key of that name: 256 random bits. Never logged, never in a response. */
export const serverKey = Effect.fn("serverKey")(function* (name: string) {
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Schema.Struct({ key: Schema.Uint8Array }),
    execute: (name) => sql`select key from server_keys where name = ${name}`
  })
  let found = yield* find(name)
  while (Option.isNone(found)) {
    yield* sql`insert into server_keys (name, key) values (${name}, ${randomBytes(keyBytes)}) on conflict do nothing`
    found = yield* find(name)
  }
  return Buffer.from(found.value.key)
}, Effect.orDie)
