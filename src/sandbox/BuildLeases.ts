/**
 * Which Sandboxes of builds have no image yet, and whether a living process makes it.
 *
 * The process that makes the image holds a lease by the database's clock and renews it while the build's context comes. A build whose lease has ended is
 * given up, and so is every build of another process where this one has the database to itself. From then on the image is refused, so a process that was
 * frozen meanwhile cannot insert an image whose Sandbox is being deleted.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Fiber, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"

export const buildLeaseMs = 60_000
const renewEveryMs = 20_000
/** Builds that one pass of the reconciler takes. */
const lapsedMax = 64

const HeldBuild = Schema.Struct({ sandboxId: Schema.String, accountId: Schema.String, imageId: Schema.String })

export type HeldBuild = typeof HeldBuild.Type

export class BuildLeases extends Context.Service<
  BuildLeases,
  {
    /** In the transaction that inserts the Sandbox. */
    readonly hold: (build: HeldBuild) => Effect.Effect<void>
    /** Renews the lease while the effect runs. */
    readonly during: <A, E, R>(sandboxId: string, effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
    /** In the transaction that inserts the image. False: the build was given up. */
    readonly settle: (sandboxId: string) => Effect.Effect<boolean>
    /** Gives up the builds that no living process makes. Returns those that were given up and whose Sandboxes may still be there, at most 64. */
    readonly lapsed: Effect.Effect<ReadonlyArray<HeldBuild>>
    /** The Sandbox is deleted. */
    readonly forget: (sandboxId: string) => Effect.Effect<void>
  }
>()("atoll/sandbox/BuildLeases") {
  static readonly layer = Layer.effect(
    BuildLeases,
    Effect.gen(function* () {
      const scope = yield* Effect.scope
      const sql = yield* SqlClient.SqlClient
      const { clusterPort } = yield* Settings
      const isAlone = clusterPort === 0
      const holder = randomUUID()
      const end = sql`clock_timestamp() + ${`${buildLeaseMs} milliseconds`}::interval`

      const takeLapsed = SqlSchema.findAll({
        Request: Schema.Void,
        Result: HeldBuild,
        execute: () => sql`
          update build_leases set is_ending = true
          where sandbox_id in (
            select sandbox_id from build_leases
            where is_ending or lease_until < clock_timestamp() or (${isAlone} and holder <> ${holder})
            order by lease_until, sandbox_id limit ${lapsedMax} for update)
          returning sandbox_id as "sandboxId", account_id as "accountId", image_id as "imageId"`
      })

      const renewals = (sandboxId: string) =>
        Effect.sleep(renewEveryMs).pipe(
          Effect.andThen(
            sql`update build_leases set lease_until = ${end} where sandbox_id = ${sandboxId} and not is_ending`.pipe(
              Effect.catch((error) =>
                Effect.logWarning(`The lease of the build in ${sandboxId} is not renewed yet`, error)
              ),
              Effect.uninterruptible
            )
          ),
          Effect.forever,
          Effect.interruptible
        )

      return BuildLeases.of({
        hold: ({ sandboxId, accountId, imageId }) =>
          sql`
            insert into build_leases (sandbox_id, account_id, image_id, holder, lease_until)
            values (${sandboxId}, ${accountId}, ${imageId}, ${holder}, ${end})`.pipe(Effect.orDie, Effect.asVoid),
        during: (sandboxId, effect) =>
          Effect.acquireUseRelease(
            Effect.forkIn(renewals(sandboxId), scope),
            () => effect,
            (renewing) => Fiber.interrupt(renewing)
          ),
        settle: (sandboxId) =>
          sql`delete from build_leases where sandbox_id = ${sandboxId} and not is_ending returning sandbox_id`.pipe(
            Effect.orDie,
            Effect.map((rows) => rows.length > 0)
          ),
        lapsed: Effect.orDie(Effect.suspend(() => takeLapsed())),
        forget: (sandboxId) =>
          Effect.asVoid(Effect.orDie(sql`delete from build_leases where sandbox_id = ${sandboxId}`))
      })
    })
  )
}
