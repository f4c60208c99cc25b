/** Images that are not deleted: they are counted at each pull, and looked up by digest. An image's usage has the image's id in the place of a Sandbox's. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export default Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  yield* sql`create index actors_images on actors (account_id) where kind = 'image' and ended_at is null`
})
