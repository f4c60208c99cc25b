/** What the log of transitions says of a Sandbox's previews, in the order in which the database made them. */
import { assert } from "@effect/vitest"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { previewMachine } from "../../../machines/preview.ts"
import { previewsPerSandbox } from "../../../schemas/Limits.ts"
import { taggedStates } from "../../../src/engine/taggedStates.ts"

const openStates = taggedStates(previewMachine, "open")

export interface PreviewFact {
  readonly id: string
  readonly port: number
  readonly status: string
  readonly isOpen: boolean
  /** A command waits. */
  readonly isBusy: boolean
  readonly createdAt: number
  readonly expiresAt: number
  readonly endedAt: number | null
  /** The transaction that made it. */
  readonly madeBy: number
  /** The transactions in which it left the open states. */
  readonly endedBy: ReadonlyArray<number>
}

/** Oldest first. */
export const previewFacts = (sql: SqlClient.SqlClient, sandboxId: string): Effect.Effect<ReadonlyArray<PreviewFact>> =>
  sql<PreviewFact>`
    select id, status, status = any(${[...openStates]}::text[]) as "isOpen", pending <> '[]'::jsonb as "isBusy",
      (snapshot -> 'context' ->> 'port')::int as "port",
      (snapshot -> 'context' ->> 'createdAt')::float8 as "createdAt",
      (snapshot -> 'context' ->> 'expiresAt')::float8 as "expiresAt",
      (snapshot -> 'context' ->> 'endedAt')::float8 as "endedAt",
      (select xact::text::float8 from transitions where actor_id = id and from_state is null) as "madeBy",
      array(select xact::text::float8 from transitions where actor_id = id
        and from_state = any(${[...openStates]}::text[]) and to_state <> all(${[...openStates]}::text[])) as "endedBy"
    from actors where kind = 'preview' and sandbox_id = ${sandboxId} order by "madeBy"`.pipe(Effect.orDie)

/**
 * Creates of one Sandbox are in the order of their transactions: each takes the Sandbox's lock before it writes.
 *
 * @param isAlongside By the transaction's preview: whether it was asked for beside others. Null: its client has no answer.
 */
export const checkLog = (
  facts: ReadonlyArray<PreviewFact>,
  isAlongside: (fact: PreviewFact) => boolean | null
): void => {
  for (const [at, made] of facts.entries()) {
    assert.isAtMost(made.endedBy.length, 1, `ends of ${made.id}`)
    assert.strictEqual(made.endedBy.length === 1, !made.isOpen, `an open state of ${made.id}`)
    const beside = facts
      .slice(0, at)
      .filter(({ endedBy, expiresAt }) => !endedBy.some((by) => by < made.madeBy) && made.createdAt < expiresAt)
    const shown = `${made.id}, of port ${made.port}, was made beside ${JSON.stringify(beside.map(({ id, port }) => [id, port]))}`
    assert.isBelow(beside.length, previewsPerSandbox, shown)
    assert.notInclude(
      beside.map(({ port }) => port),
      made.port,
      shown
    )
    if (isAlongside(made) === false) assert.lengthOf(beside, 0, shown)
  }
}
