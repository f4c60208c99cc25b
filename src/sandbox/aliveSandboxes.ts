/** Selects the rows of `actors` that are alive Sandboxes, with the condition of the index. */
import type { SqlClient } from "effect/sql"
import { aliveStates } from "./sandboxStates.ts"

const states = aliveStates.map((state) => `'${state}'`).join(", ")

export const isAlive = (sql: SqlClient.SqlClient) => sql.literal(`kind = 'sandbox' and sandbox_status in (${states})`)
