/** The resources in a Sandbox that end with it: operations, previews, accesses, grants. */

import { Context, Effect, Layer, Ref, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { AnyStateMachine } from "xstate"
import type { PublicReason } from "../../schemas/PublicText.ts"
import type { AnyEvent } from "../engine/ActorDefinition.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { openIn } from "../store/openActors.ts"
import { generationOf } from "../store/SnapshotFields.ts"

export interface DependentKind {
  readonly machine: AnyStateMachine
  /** States in which a dependent must be told of the end. In each it waits for a command or a deadline; the query uses that to find it. */
  readonly openStates: ReadonlyArray<string>
  /** Of those: states in which a dependent waits for others to end. These are told first, the newest first. */
  readonly waitingStates?: ReadonlyArray<string>
  readonly event: (reason: PublicReason) => AnyEvent
}

export class Dependents extends Context.Service<
  Dependents,
  {
    readonly register: (kind: DependentKind) => Effect.Effect<void>
    /**
     * Tells every open dependent of this generation and earlier ones; those of a later generation go on.
     * Returns when each has been told; safe to repeat.
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
          where ${sql.literal(openIn("actors"))} = ${sandboxId} and kind = ${kind} and status = any(${textColumn(openStates)}::text[])
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
                    // It has already ended.
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
