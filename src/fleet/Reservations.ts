/**
 * Reservations of each host's resources: disk for each Sandbox that lives there, and vCPUs and memory for each that is up. A reservation is a row
 * of `host_promises`. One statement changes it together with the host's sums, which never exceed the host's resources. So no capacity is
 * reserved twice, under concurrent and repeated calls.
 *
 * A sleeping Sandbox counts as up, because it may be woken at any time. Once a Sandbox was up on a host, its reservation never moves (it is settled):
 * the volume is there. Before that, a host that does not boot it passes the Sandbox on, and never gets it again.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { SandboxSpec } from "../runtime/Runtime.ts"
import type { Place } from "../sandbox/Placement.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { type Raised, reservationStatements } from "./reservationStatements.ts"
import { type Asked, roomStatements, type Survey } from "./roomStatements.ts"
import type { SnapshotPlaces } from "./snapshotCopyStatements.ts"

/** Each entry is two short texts. */
const rememberedMax = 100_000
/** A reservation made so recently is taken as unchanged: it changes as seldom before this check as between the check and the boot. */
const justNowMs = 1000
const firstGeneration = 1
const justNowMax = 1024

/** Reservations that `take` made a moment ago, for the first boot, which so needs no statement. */
class JustTaken {
  readonly #taken = new BoundedMap<string, { readonly raised: Raised; readonly at: number }>(justNowMax)

  note(sandboxId: string, hostId: string): void {
    const raised = { hostId, isUp: true, isSettled: false, status: "ready" }
    this.#taken.set(sandboxId, { raised, at: performance.now() })
  }

  /** Gives it once; null: there is none, or it is too old. */
  recall(sandboxId: string): Raised | null {
    const taken = this.#taken.get(sandboxId)
    this.#taken.delete(sandboxId)
    return taken !== undefined && performance.now() - taken.at < justNowMs ? taken.raised : null
  }

  forget(sandboxId: string): void {
    this.#taken.delete(sandboxId)
  }
}

/** The hosts to ask for room, in order; null: any. */
export const placesFor = (origin: Pick<SnapshotPlaces, "hostId" | "isBound" | "copies"> | null) => {
  if (origin === null || origin.hostId === null) return [null]
  return origin.isBound ? [origin.hostId] : [origin.hostId, ...origin.copies, null]
}

/** Rolls back: no other host was found. */
class NowhereElse extends Schema.TaggedError<NowhereElse>()("NowhereElse", {}) {}

export class Reservations extends Context.Service<
  Reservations,
  {
    /** The host of a Sandbox; null: it has none. Cached once the Sandbox is settled. */
    readonly hostOf: (sandboxId: string) => Effect.Effect<string | null>
    /**
     * Reserves capacity for a new Sandbox, which counts as up, on the best ready host that no other reservation has locked. Null: no host. It runs
     * in the caller's transaction, and never waits while it locks a host.
     */
    readonly take: (asked: Asked) => Effect.Effect<Place | null>
    readonly survey: (asked: Asked) => Effect.Effect<Survey>
    /**
     * The same at the boot of a Sandbox without a host, for its own kind. `origin`: of its snapshot; the hosts that have that come first. "soon": no host
     * now, but perhaps in a moment.
     */
    readonly takeLate: (
      spec: SandboxSpec,
      origin: SnapshotPlaces | null
    ) => Effect.Effect<{ readonly hostId: string } | "soon" | null>
    /**
     * Reserves vCPUs and memory on the Sandbox's host. Not `isUp`: the host has not enough left. Does nothing if they are reserved already. Null: the
     * Sandbox has no host. For the first boot right after `take` in this process, the result of `take` is used, once.
     */
    readonly raise: (sandboxId: string, generation: number) => Effect.Effect<Raised | null>
    /** Binds the Sandbox to its host for good. False: it was moved to another host meanwhile. */
    readonly settle: (sandboxId: string, hostId: string) => Effect.Effect<boolean>
    /**
     * Moves an unsettled Sandbox from a host that does not boot it to the best other ready host that has not refused it. "moved": it has
     * another host, or is settled. "soon": no host has capacity now, but perhaps in a moment. Null: no host has capacity. With the latter two it stays.
     */
    readonly move: (spec: SandboxSpec, from: string) => Effect.Effect<"moved" | "soon" | null>
    /** A few ready hosts of that kind that have room for a volume of that size, the emptiest first. Reserves nothing. */
    readonly hostsWithDisk: (kind: "vm" | "namespace", diskBytes: number) => Effect.Effect<ReadonlyArray<string>>
    /** The operator took that host out of the fleet, with all that it had. */
    readonly isRemovedHost: (hostId: string) => Effect.Effect<boolean>
    /** Reserves other sizes on the Sandbox's host, in the caller's transaction. False: the host has no room for what is more. */
    readonly resize: (
      sandboxId: string,
      sizes: Pick<Asked, "vcpus" | "memoryBytes" | "diskBytes">
    ) => Effect.Effect<boolean>
    /** Frees vCPUs and memory after the Sandbox stopped in this generation. Frees nothing if it was started again since. */
    readonly lower: (sandboxId: string, generation: number) => Effect.Effect<void>
    /** Deletes the reservation: nothing is left of the Sandbox. */
    readonly release: (sandboxId: string) => Effect.Effect<void>
  }
>()("atoll/fleet/Reservations") {
  static readonly layer = Layer.effect(
    Reservations,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const room = yield* roomStatements
      const reservations = yield* reservationStatements
      const hosts = new BoundedMap<string, string>(rememberedMax)
      const justTaken = new JustTaken()

      const soonOrNever = (asked: Asked) =>
        Effect.map(room.survey(asked), ({ fitting, awaited }) => (fitting + awaited > 0 ? ("soon" as const) : null))

      const move = Effect.fnUntraced(function* ({ volumeBytes: diskBytes, ...spec }: SandboxSpec, from: string) {
        const asked = { ...spec, diskBytes, kind: yield* reservations.kindOf(spec.sandboxId) }
        let refusedBy: ReadonlyArray<string> = []
        const moved = Effect.gen(function* () {
          const left = yield* reservations.leave(spec.sandboxId, from)
          if (left === undefined) return true
          refusedBy = [...left.refusedBy, from]
          const taken = yield* room.take({ ...asked, refusedBy })
          return taken === null ? yield* new NowhereElse() : true
        })
        return yield* sql.withTransaction(moved).pipe(
          Effect.as("moved" as const),
          Effect.catchTag("NowhereElse", () => soonOrNever({ ...asked, refusedBy })),
          Effect.orDie
        )
      })

      return Reservations.of({
        hostOf: (sandboxId) =>
          Effect.suspend(() => {
            const known = hosts.get(sandboxId)
            if (known !== undefined) return Effect.succeed(known)
            return Effect.map(reservations.findHost(sandboxId), (row) => {
              if (row?.is_settled === true) hosts.set(sandboxId, row.host_id)
              return row?.host_id ?? null
            })
          }),
        take: (asked) =>
          Effect.tap(room.take(asked), (taken) =>
            Effect.sync(() => {
              if (taken !== null && taken.hostId !== null) justTaken.note(asked.sandboxId, taken.hostId)
            })
          ),
        takeLate: Effect.fnUntraced(function* ({ volumeBytes: diskBytes, ...spec }, origin) {
          if (spec.snapshotId !== undefined && (origin === null || origin.hostId === null)) return null
          const asked = { ...spec, diskBytes, kind: yield* reservations.kindOf(spec.sandboxId) }
          for (const hostId of placesFor(origin)) {
            const taken = yield* room.take({ ...asked, hostId })
            if (taken !== null && taken.hostId !== null) return { hostId: taken.hostId }
          }
          return yield* soonOrNever({ ...asked, hostId: origin?.isBound === true ? origin.hostId : null })
        }),
        ...{ survey: room.survey, hostsWithDisk: room.withDisk },
        raise: (sandboxId, generation) =>
          Effect.suspend(() => {
            const recalled = justTaken.recall(sandboxId)
            // A later boot follows a stop, which has freed vCPUs and memory.
            if (recalled !== null && generation === firstGeneration) return Effect.succeed(recalled)
            return Effect.map(reservations.raise(sandboxId), (raised) => {
              if (raised?.isSettled === true) hosts.set(sandboxId, raised.hostId)
              return raised
            })
          }),
        settle: (sandboxId, hostId) =>
          Effect.map(reservations.settle(sandboxId, hostId), (isSettled) => {
            if (isSettled) hosts.set(sandboxId, hostId)
            return isSettled
          }),
        move,
        isRemovedHost: reservations.isRemovedHost,
        resize: reservations.resize,
        lower: reservations.lower,
        release: (sandboxId) =>
          Effect.suspend(() => {
            hosts.delete(sandboxId)
            justTaken.forget(sandboxId)
            return reservations.release(sandboxId)
          })
      })
    })
  )
}
