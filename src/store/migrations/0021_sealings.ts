/**
 * Capabilities of service accesses stand in the database no more, only the key's day and the nonce of each: the `kid` in the first part of
 * the compact JWE, and its third part.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`
    update actors a
    set payload = jsonb_build_object('day', convert_from(decode(h.padded, 'base64'), 'UTF8')::jsonb ->> 'kid', 'nonce', h.nonce)
    from (
      select id, split_part(payload ->> 'capability', '.', 3) as nonce,
        rpad(part, (length(part) + 3) / 4 * 4, '=') as padded
      from actors, translate(split_part(payload ->> 'capability', '.', 1), '-_', '+/') as part
      where kind = 'serviceAccess' and payload ? 'capability'
    ) h
    where a.id = h.id`
})
