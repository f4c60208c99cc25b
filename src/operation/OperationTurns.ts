/**
 * Order of starts: the operations of a Sandbox ask its guest to start them one at a time, in the order in which they were accepted.
 *
 * The database stores the order, so it holds over restarts and between processes. The first may wait in the guest for another command to end; the
 * next ones wait here until it is no longer queued, for any reason.
 */

import { Effect, Queue } from "effect"
import { SqlClient } from "effect/sql"
import { operationMachine } from "../../machines/operation.ts"
import type { OperationContext } from "../../schemas/contexts/Operation.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { quotedStates, taggedStates } from "../engine/taggedStates.ts"
import { Actors } from "../store/Actors.ts"
import { openIn } from "../store/openActors.ts"
import { generationOf } from "../store/SnapshotFields.ts"
import type { OperationPayload } from "./OperationPayload.ts"

/** The owner of the preceding operation reports its changes immediately; this poll covers a frozen owner. All waiting operations share one query. */
const lookAgainMs = 5000

interface Row {
  readonly payload: OperationPayload
  readonly before_id: string | null
  readonly before_revision: bigint | null
}

/** `materialized` keeps the planner from scanning all by age. */
const statement = `
  with queued as materialized (
    select id, revision, created_at from actors
    where ${openIn("actors")} = $2 and kind = 'operation' and status in (${quotedStates(taggedStates(operationMachine, "waiting"))})
      and ${generationOf("actors")} = $3
  )
  select own.payload, earlier.id as before_id, earlier.revision as before_revision
  from actors own left join lateral (
    select id, revision from queued where (created_at, id) < (own.created_at, own.id) order by created_at desc, id desc limit 1
  ) earlier on true
  where own.id = $1`

export const operationTurns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const host = yield* ActorHost
  const actors = yield* Actors

  const look = ({ operationId, sandboxId, generation }: OperationContext) =>
    Effect.map(Effect.orDie(sql.unsafe<Row>(statement, [operationId, sandboxId, generation])), ([row]): Row => row!)

  /** Returns after a commit to that operation beyond this revision. */
  const untilChanged = Effect.fnUntraced(
    function* (id: string, revision: number) {
      const changes = yield* Queue.sliding<void>(1)
      yield* Effect.forkScoped(
        host.follow(operationMachine, id, revision, () => void Queue.offerUnsafe(changes, undefined)),
        { startImmediately: true }
      )
      // A failed query counts as unchanged.
      const isUnchanged = actors.read(id).pipe(
        Effect.map((record) => record?.revision === revision),
        Effect.catchDefect(() => Effect.succeed(true))
      )
      yield* Effect.raceFirst(
        Queue.take(changes),
        Effect.repeat(Effect.delay(isUnchanged, lookAgainMs), { while: (unchanged) => unchanged })
      )
    },
    (effect) => Effect.scoped(effect)
  )

  /** The operation's payload, once no earlier operation of its generation is queued. */
  return Effect.fn("OperationTurns.of")(function* (context: OperationContext) {
    while (true) {
      const { payload, before_id: before, before_revision: revision } = yield* look(context)
      if (before === null) return payload
      yield* untilChanged(before, Number(revision))
    }
  })
})
