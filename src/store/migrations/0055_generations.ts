/**
 * The generation of a Sandbox, and that in which something of it was made, stands in the column that operations have. The journal writes it from now on; rows
 * without one are written here once. It is part of no index but one of ended operations.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    update actors set generation = floor((snapshot -> 'context' ->> 'generation')::numeric)::int4
    where kind <> 'operation' and generation is null and snapshot -> 'context' ->> 'generation' is not null`
})
