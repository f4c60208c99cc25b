/** Selects the rows of `actors` that are alive Sandboxes, with the condition of the index. */
import type { SqlClient } from "effect/sql"
import { quotedStates } from "../engine/taggedStates.ts"
import { aliveStates, upStates } from "./sandboxStates.ts"

const states = quotedStates(aliveStates)

export const isAlive = (sql: SqlClient.SqlClient) => sql.literal(`kind = 'sandbox' and sandbox_status in (${states})`)

/** Of those, the ones whose runtime answers. */
export const isUp = (sql: SqlClient.SqlClient) =>
  sql.literal(`kind = 'sandbox' and sandbox_status in (${states}) and sandbox_status in (${quotedStates(upStates)})`)
