/**
 * A change reaches the owner of its Sandbox at least once: a message whose answer was lost with its connection is sent again, perhaps to the next owner,
 * who refuses it as stale. Such a change is done, and must not be made again on top of what others have changed since.
 */
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Changeable } from "../../schemas/contexts/Sandbox.ts"
import type { SandboxRecord } from "./ownSandbox.ts"

export interface SentChange {
  readonly edition: number
  readonly changes: Partial<Changeable>
  readonly requestId: string
}

/** The revision at which this request's change was committed after it had read the Sandbox; null: it was not. An edition is changed once. */
export const ownChange = (
  sql: SqlClient.SqlClient,
  { id, revision }: Pick<SandboxRecord, "id" | "revision">,
  { edition, changes, requestId }: SentChange
): Effect.Effect<number | null> =>
  sql<{ readonly revision: bigint }>`
    select revision from transitions
    where actor_id = ${id} and revision > ${revision}::int8 and request_id = ${requestId}
      and event ->> 'type' = 'CHANGED' and (event ->> 'edition')::int8 = ${edition}::int8
      and event -> 'changes' = ${JSON.stringify(changes)}::jsonb
    limit 1`.pipe(
    Effect.map(([found]) => (found === undefined ? null : Number(found.revision))),
    Effect.orDie
  )
