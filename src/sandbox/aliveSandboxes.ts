/** Which rows of `actors` are Sandboxes that are alive, in the words that their index has. */
import type { SqlClient } from "effect/sql"
import { aliveStates } from "./sandboxStates.ts"

const states = aliveStates.map((state) => `'${state}'`).join(", ")

export const isAlive = (sql: SqlClient.SqlClient) => sql.literal(`kind = 'sandbox' and sandbox_status in (${states})`)
