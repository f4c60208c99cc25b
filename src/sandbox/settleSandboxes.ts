/** Ends what runs of all Sandboxes at once, each by its own machine: for the operator, while nobody else serves them. */

import { Clock, Effect, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { sandboxMachine } from "../../machines/sandbox.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { generationOf } from "../store/SnapshotFields.ts"
import { countedStates, runtimelessStates } from "./sandboxStates.ts"

/** A boot must finish before it can be stopped, and a machine may end slowly. */
const settleWithinMs = 180_000
const lookEveryMs = 50

/** Some Sandboxes still run. `message` is one sentence. */
export class NotSettled extends Schema.TaggedError<NotSettled>()("NotSettled", { message: Schema.String }) {}

/** States with a runtime, or shortly after its end. */
export const unsettledStates = countedStates.filter((state) => !runtimelessStates.includes(state))

/** Sends the event to every Sandbox in those states, and waits until none is left in them and none of their commands is open. Returns their number. */
export const settleSandboxes = Effect.fn("settleSandboxes")(function* (
  states: ReadonlyArray<string>,
  eventFor: (generation: number) => EventOf<typeof sandboxMachine>
) {
  const host = yield* ActorHost
  const sql = yield* SqlClient.SqlClient
  const find = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String, revision: Int8, generation: Schema.Int }),
    execute: () => sql`
      select id, revision, ${sql.literal(generationOf("actors"))} as generation from actors
      where kind = 'sandbox' and status = any(${textColumn(states)}::text[]) order by id`
  })
  const found = yield* find()
  const ids = found.map(({ id }) => id)
  const count = SqlSchema.findOne({
    Request: Schema.Void,
    Result: Schema.Struct({ left: Schema.Int }),
    execute: () => sql`
      select count(*)::int4 as left from actors
      where id = any(${textColumn(ids)}::text[]) and (status = any(${textColumn(states)}::text[]) or pending <> '[]'::jsonb)`
  })
  yield* Effect.forEach(
    found,
    ({ id, generation, revision }) =>
      host
        .send(sandboxMachine, id, eventFor(generation), { cause: "operator", revision })
        // It is stopping already.
        .pipe(Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void)),
    { concurrency: 16, discard: true }
  )
  const deadline = (yield* Clock.currentTimeMillis) + settleWithinMs
  for (let { left } = yield* count(); left > 0; { left } = yield* count()) {
    if ((yield* Clock.currentTimeMillis) > deadline) {
      return yield* new NotSettled({ message: `${left} Sandboxes did not end within ${settleWithinMs / 1000} s.` })
    }
    yield* Effect.sleep(lookEveryMs)
  }
  return found.length
})
