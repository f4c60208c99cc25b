/** Everything that lives in a Sandbox and ends with it: operations, previews, accesses, grants. */

import { Context, Effect, Layer, Ref, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { AnyStateMachine } from "xstate"
import type { PublicReason } from "../../schemas/PublicText.ts"
import type { AnyEvent } from "../actor/ActorDefinition.ts"
import { ActorHost } from "../actor/ActorHost.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { generationOf } from "../store/SnapshotFields.ts"

export interface DependentKind {
  readonly machine: AnyStateMachine
  /** The states in which it must hear of the end. In each of them it waits for a command or a deadline: that is how it is found. */
  readonly openStates: ReadonlyArray<string>
  /** Those of them in which one waits for others to end: it hears before they do, the newest first. */
  readonly waitingStates?: ReadonlyArray<string>
  readonly event: (reason: PublicReason) => AnyEvent
}

export class Dependents extends Context.Service<
  Dependents,
  {
    readonly register: (kind: DependentKind) => Effect.Effect<void>
    /**
     * Tells every open dependent of a generation and those before it: what a later one has begun meanwhile goes on.
     * Returns when each has heard; repeated calls do no harm.
     */
    readonly close: (sandboxId: string, generation: number, reason: PublicReason) => Effect.Effect<void>
  }
>()("atoll/sandbox/Dependents") {
  static readonly layer = Layer.effect(
    Dependents,
    Effect.gen(function* () {
      const host = yield* ActorHost
      const sql = yield* SqlClient.SqlClient
      const findOpen = SqlSchema.findAll({
        Request: Schema.Struct({
          sandboxId: Schema.String,
          generation: Schema.Int,
          kind: Schema.String,
          openStates: Schema.Array(Schema.String)
        }),
        Result: Schema.Struct({ id: Schema.String, revision: Int8 }),
        execute: ({ sandboxId, generation, kind, openStates }) => sql`
          select id, revision from actors
          where sandbox_id = ${sandboxId} and kind = ${kind} and status = any(${textColumn(openStates)}::text[])
            and (pending <> '[]'::jsonb or due_at is not null)
            and ${sql.literal(generationOf("actors"))} <= ${generation}
          order by created_at desc, id desc`
      })
      const kinds = yield* Ref.make<ReadonlyArray<DependentKind>>([])
      return Dependents.of({
        register: (kind) => Ref.update(kinds, (known) => [...known, kind]),
        close: Effect.fn("Dependents.close")(function* (sandboxId, generation, reason) {
          for (const { machine, openStates, waitingStates, event } of yield* Ref.get(kinds)) {
            for (const states of waitingStates === undefined ? [openStates] : [waitingStates, openStates]) {
              const open = yield* Effect.orDie(
                findOpen({ sandboxId, generation, kind: machine.id, openStates: states })
              )
              yield* Effect.forEach(
                open,
                ({ id, revision }) =>
                  host.send(machine, id, event(reason), { cause: "cascade", revision }).pipe(
                    // It ended by itself meanwhile.
                    Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.void),
                    Effect.orDie
                  ),
                { concurrency: 16, discard: true }
              )
            }
          }
        })
      })
    })
  )
}
