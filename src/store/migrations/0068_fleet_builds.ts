/** Which hosts of a fleet build images. A service of an older version that a host joins through leaves `builds_images` as it was. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`alter table hosts add column builds_images boolean not null default false`
})
