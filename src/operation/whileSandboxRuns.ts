/** Asks a guest again while it does not answer although its Sandbox runs. */
import { Effect, Schedule } from "effect"
import { SqlClient } from "effect/sql"
import type { OperationContext } from "../../schemas/contexts/Operation.ts"
import type { GuestUnavailable } from "../runtime/Guest.ts"
import { inhabitedStates } from "../sandbox/sandboxStates.ts"
import { generationOf, hasPending } from "../store/SnapshotFields.ts"

const askAgain = Schedule.min([Schedule.exponential(50), Schedule.spaced(2000)])

export const whileSandboxRuns = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient

  /**
   * The Sandbox's status if its running generation is not (or no longer) the operation's; else undefined. While the Sandbox has yet to tell what
   * lived in it why it ended, the operation waits for that: its status alone says less.
   */
  const sandboxGone = Effect.fnUntraced(function* (context: OperationContext) {
    const [row] = yield* sql<{ readonly status: string; readonly generation: number; readonly is_telling: boolean }>`
      select status, ${sql.literal(generationOf("actors"))} as generation,
        ${sql.literal(hasPending("actors", "closeDependents"))} as is_telling
      from actors where id = ${context.sandboxId}`.pipe(Effect.orDie)
    if (row === undefined) return null
    if (row.is_telling) return undefined
    const isHere = row.generation === context.generation && inhabitedStates.includes(row.status)
    return isHere ? undefined : row.status
  })

  /** Retries `attempt` while the guest does not answer although its Sandbox runs; gives up when the Sandbox has ended. */
  return <A, E, B>(
    context: OperationContext,
    attempt: Effect.Effect<A, E | GuestUnavailable>,
    gone: (status: string | null) => B
  ): Effect.Effect<A | B, Exclude<E, GuestUnavailable>> =>
    attempt.pipe(
      Effect.catchIf(
        (error): error is GuestUnavailable & E => (error as { readonly _tag?: string })._tag === "GuestUnavailable",
        (error) =>
          Effect.flatMap(sandboxGone(context), (status) =>
            status === undefined ? Effect.fail(error) : Effect.succeed(gone(status))
          )
      ),
      Effect.retry({
        schedule: askAgain,
        while: (error) => (error as { readonly _tag?: string })._tag === "GuestUnavailable"
      })
    ) as Effect.Effect<A | B, Exclude<E, GuestUnavailable>>
})
