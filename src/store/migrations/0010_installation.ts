/** One row: which installation this database belongs to (the data folder carries the same id), and which runtime driver its Sandboxes have. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    create table installation (
      only_one boolean primary key default true check (only_one),
      id text not null default replace(gen_random_uuid()::text, '-', ''),
      driver text
    )`
  yield* sql`insert into installation default values`
})
