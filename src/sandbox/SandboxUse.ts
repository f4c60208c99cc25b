/**
 * When each Sandbox was last used, and whether it is in use now. Commands and connections report their use here.
 *
 * Uses are kept in memory, so one costs nothing. Several processes on one database exchange them: one statement every few seconds for all present
 * and recent uses. If Sandboxes sleep when idle, a use is also stored before it begins, at most four times in the idle time. A use
 * begins before its Sandbox's state is read, and a freeze checks for uses after its state is committed: of the two, one
 * always sees the other.
 */
import { Clock, Context, Effect, Layer, Option, Schema, type Scope } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import { worker } from "../platform/worker/Worker.ts"
import { Runtime } from "../runtime/Runtime.ts"
import { Int8, int8Column, textColumn } from "../store/Columns.ts"

/** Interval of the exchange, and how late other processes may learn of a use, with allowance for a slow database. */
const tellEveryMs = 5_000
const toldWithinMs = 15_000

interface Use {
  open: number
  /** Epoch milliseconds. */
  at: number
}

export class SandboxUse extends Context.Service<
  SandboxUse,
  {
    /** After how long without use a Sandbox sleeps; null: never. */
    readonly sleepAfterMs: number | null
    /** Marks a use, until the returned function is called. */
    readonly begin: (sandboxId: string) => () => void
    /** Marks a use while the effect runs. */
    readonly during: (sandboxId: string) => <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** Marks a use while the scope lasts. */
    readonly scoped: (sandboxId: string) => Effect.Effect<void, never, Scope.Scope>
    /** Epoch milliseconds since which uses are recorded. */
    readonly since: number
    /** A use in another process may be later than the latest known one by up to this time. */
    readonly lateByMs: number
    /** Epoch milliseconds of the latest known use; now during a use; 0: none. */
    readonly latest: (sandboxId: string) => Effect.Effect<number>
    /** The Sandbox was deleted. */
    readonly forget: (sandboxId: string) => Effect.Effect<void>
  }
>()("atoll/sandbox/SandboxUse") {
  static readonly layer = Layer.effect(
    SandboxUse,
    Effect.gen(function* () {
      const { sleepAfterSeconds, clusterPort } = yield* Settings
      const { capabilities } = yield* Runtime
      const sql = yield* SqlClient.SqlClient
      const clock = yield* Clock.Clock
      const sleepAfterMs = sleepAfterSeconds === 0 || !capabilities.suspend ? null : sleepAfterSeconds * 1000
      const isShared = clusterPort !== 0
      const since = clock.currentTimeMillisUnsafe()
      const uses = new Map<string, Use>()
      const toldAt = new Map<string, number>()

      const begin = (sandboxId: string) => {
        const use = uses.get(sandboxId) ?? { open: 0, at: 0 }
        uses.set(sandboxId, use)
        use.open++
        let isOpen = true
        return () => {
          if (!isOpen) return
          isOpen = false
          use.open--
          use.at = clock.currentTimeMillisUnsafe()
        }
      }

      const tell = (used: ReadonlyArray<readonly [sandboxId: string, use: Use]>) => {
        if (used.length === 0) return Effect.void
        const now = clock.currentTimeMillisUnsafe()
        const told = used.map(([id, { open, at }]) => [id, open > 0 ? now : at] as const)
        return sql
          .unsafe(
            `insert into sandbox_uses (sandbox_id, used_at) select * from unnest($1::text[], $2::int8[])
             on conflict (sandbox_id) do update set used_at = greatest(sandbox_uses.used_at, excluded.used_at)`,
            [textColumn(told.map(([id]) => id)), int8Column(told.map(([, at]) => BigInt(at)))]
          )
          .pipe(
            Effect.orDie,
            Effect.andThen(
              Effect.sync(() => {
                for (const [id, at] of told) toldAt.set(id, at)
              })
            )
          )
      }

      /** Stores the use before it begins, if the Sandbox may sleep. */
      const tellsOthers = isShared && sleepAfterMs !== null
      const tellOthers = (sandboxId: string) =>
        Effect.suspend(() =>
          sleepAfterMs === null || clock.currentTimeMillisUnsafe() - (toldAt.get(sandboxId) ?? 0) < sleepAfterMs / 4
            ? Effect.void
            : tell([[sandboxId, uses.get(sandboxId)!]])
        )

      if (isShared) {
        const untold = () => [...uses].filter(([id, { open, at }]) => open > 0 || at > (toldAt.get(id) ?? 0))
        yield* Effect.suspend(() => tell(untold())).pipe(
          Effect.catchCause((cause) => Effect.logWarning("Could not store the uses of Sandboxes", cause)),
          Effect.delay(Math.min(tellEveryMs, (sleepAfterMs ?? Number.POSITIVE_INFINITY) / 4)),
          Effect.forever,
          (telling) => worker("sandbox uses", telling)
        )
      }

      const scoped = (sandboxId: string) =>
        Effect.andThen(
          Effect.acquireRelease(
            Effect.sync(() => begin(sandboxId)),
            (end) => Effect.sync(end)
          ),
          tellsOthers ? tellOthers(sandboxId) : Effect.void
        )

      const findUse = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ used_at: Int8 }),
        execute: (sandboxId) => sql`select used_at from sandbox_uses where sandbox_id = ${sandboxId}`
      })

      return SandboxUse.of({
        sleepAfterMs,
        since,
        lateByMs: isShared ? toldWithinMs : 0,
        begin,
        scoped,
        during: (sandboxId) => (effect) =>
          Effect.acquireUseRelease(
            Effect.sync(() => begin(sandboxId)),
            tellsOthers ? () => Effect.andThen(tellOthers(sandboxId), effect) : () => effect,
            (end) => Effect.sync(end)
          ),
        latest: Effect.fnUntraced(function* (sandboxId) {
          const use = uses.get(sandboxId)
          if (use !== undefined && use.open > 0) return clock.currentTimeMillisUnsafe()
          const known = use?.at ?? 0
          if (!isShared) return known
          const told = yield* Effect.orDie(findUse(sandboxId))
          return Math.max(known, Option.getOrElse(told, () => ({ used_at: 0 })).used_at)
        }),
        forget: (sandboxId) =>
          Effect.suspend(() => {
            if ((uses.get(sandboxId)?.open ?? 0) === 0) uses.delete(sandboxId)
            toldAt.delete(sandboxId)
            return isShared
              ? Effect.orDie(Effect.asVoid(sql`delete from sandbox_uses where sandbox_id = ${sandboxId}`))
              : Effect.void
          })
      })
    })
  )
}
