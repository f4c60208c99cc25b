/**
 * Reservations of each host's resources: disk for each Sandbox that lives there, and vCPUs and memory for each that is up. A reservation is a row
 * of `host_promises`. One statement changes it together with the host's sums, which never exceed the host's resources. So no capacity is
 * reserved twice, under concurrent and repeated calls.
 *
 * A sleeping Sandbox counts as up, because it may be woken at any time. Once a Sandbox was up on a host, its reservation never moves (it is settled):
 * the volume is there. Before that, a host that does not boot it passes the Sandbox on, and never gets it again.
 */

import { randomBytes } from "node:crypto"
import { Context, Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import { Settings } from "../Config.ts"
import type { SandboxSpec } from "../runtime/Runtime.ts"
import type { Place, Wanted } from "../sandbox/Placement.ts"
import { BoundedMap } from "../store/BoundedMap.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf, generationOf } from "../store/SnapshotFields.ts"
import { placeableStates, removedHostStates, silentStates } from "./hostStates.ts"

/** Hosts on each side of the random starting point. */
const fewHosts = 8
/** Each entry is two short texts. */
const rememberedMax = 100_000
/** A reservation made so recently is taken as unchanged: it changes as seldom before this check as between the check and the boot. */
const justNowMs = 1000
const firstGeneration = 1
const justNowMax = 1024

export interface Asked extends Omit<Wanted, "runtime"> {
  /** Null: any kind. */
  readonly kind: "vm" | "namespace" | null
  /** Hosts that refused the Sandbox. */
  readonly refusedBy?: ReadonlyArray<string>
}

/** The hosts that suit a Sandbox, including those locked by other reservations. */
export interface Survey {
  /** Ready hosts with capacity. */
  readonly fitting: number
  /** Hosts with capacity that are silent or joining: they may be ready soon. */
  readonly awaited: number
  /** Hosts of its kind, ready or not, except removed ones. */
  readonly ofKind: number
  /** Of those: hosts that boot Sandboxes with network. */
  readonly withNetwork: number
  /** The kind of a present host, else of an awaited one. */
  readonly kind: "vm" | "namespace" | null
}

const Raised = Schema.Struct({
  hostId: Schema.String,
  /** vCPUs and memory are reserved, too. */
  isUp: Schema.Boolean,
  /** The Sandbox was up on this host, and stays there. */
  isSettled: Schema.Boolean,
  /** State of the host's actor; null: it has none yet. */
  status: Schema.NullOr(Schema.String)
})
export type Raised = typeof Raised.Type

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
    /** The same at the boot of a Sandbox without a host, for its own kind. "soon": no host now, but perhaps in a moment. */
    readonly takeLate: (spec: SandboxSpec) => Effect.Effect<{ readonly hostId: string } | "soon" | null>
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
      const { placement } = yield* Settings
      const hosts = new BoundedMap<string, string>(rememberedMax)
      const justTaken = new BoundedMap<string, { readonly raised: Raised; readonly at: number }>(justNowMax)

      const findHost = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ host_id: Schema.String, is_settled: Schema.Boolean }),
        execute: (sandboxId) => sql`select host_id, is_settled from host_promises where sandbox_id = ${sandboxId}`
      })

      const hostOf = (sandboxId: string) =>
        Effect.suspend(() => {
          const known = hosts.get(sandboxId)
          if (known !== undefined) return Effect.succeed(known)
          return findHost(sandboxId).pipe(
            Effect.orDie,
            Effect.map((row) => {
              if (Option.isNone(row)) return null
              if (row.value.is_settled) hosts.set(sandboxId, row.value.host_id)
              return row.value.host_id
            })
          )
        })

      const hasRoom = ({ vcpus, memoryBytes, diskBytes }: Asked) => sql`
        h.vcpus_promised + ${vcpus}::int4 <= h.vcpus
        and h.memory_promised + ${BigInt(memoryBytes)}::int8 <= h.memory_bytes
        and h.disk_promised + ${BigInt(diskBytes)}::int8 <= h.disk_bytes`

      const suits = ({ kind, networkEnabled, refusedBy = [] }: Asked) => sql`
        (${kind}::text is null or h.kind = ${kind}::text) and (not ${networkEnabled}::bool or h.network_refused is null)
        and h.id <> all(${textColumn(refusedBy)}::text[])`

      const isReady = sql`
        exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(placeableStates)}::text[]))`

      /** A host with failed boots is not waited for. */
      const isAwaited = sql`
        exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(silentStates)}::text[])
          and coalesce(${sql.literal(fieldOf("a", "failures", "int4"))}, 0) = 0)`

      /** Usage of the scarcest resource with this Sandbox, from 0 to 1. */
      const fullness = ({ vcpus, memoryBytes, diskBytes }: Asked) => sql`
        greatest(
          (h.vcpus_promised + ${vcpus}::int4)::float8 / h.vcpus,
          (h.memory_promised + ${BigInt(memoryBytes)}::int8)::float8 / h.memory_bytes,
          (h.disk_promised + ${BigInt(diskBytes)}::int8)::float8 / h.disk_bytes)`

      const best = placement === "spread" ? sql`asc` : sql`desc`

      const ready = (asked: Asked) => sql`${hasRoom(asked)} and ${suits(asked)} and ${isReady}`

      /** A few of many hosts, from a random start: the best of these is good enough, and concurrent callers see others. `pack` searches all for the fullest. */
      const candidates = (asked: Asked) => {
        if (placement === "pack")
          return sql`candidates as materialized (select h.id from hosts h where ${ready(asked)})`
        const from = `host_${randomBytes(12).toString("hex")}`
        return sql`candidates as materialized (
            (select h.id from hosts h where h.id >= ${from} and ${ready(asked)} order by h.id limit ${fewHosts})
            union all
            (select h.id from hosts h where h.id < ${from} and ${ready(asked)} order by h.id limit ${fewHosts}))`
      }

      const takeRoom = (asked: Asked) => sql<{ readonly hostId: string; readonly runtime: "vm" | "namespace" }>`
          with ${candidates(asked)},
          chosen as (
            select h.id from hosts h join candidates c on c.id = h.id where ${hasRoom(asked)}
            order by ${fullness(asked)} ${best}, random() limit 1
            for no key update of h skip locked),
          taken as (
            update hosts h set vcpus_promised = h.vcpus_promised + ${asked.vcpus}::int4,
              memory_promised = h.memory_promised + ${BigInt(asked.memoryBytes)}::int8,
              disk_promised = h.disk_promised + ${BigInt(asked.diskBytes)}::int8
            from chosen c where h.id = c.id and ${hasRoom(asked)}
            returning h.id, h.kind),
          promised as (
            insert into host_promises (sandbox_id, host_id, vcpus, memory_bytes, disk_bytes, is_up, is_settled, refused_by)
            select ${asked.sandboxId}, id, ${asked.vcpus}::int4, ${BigInt(asked.memoryBytes)}::int8, ${BigInt(asked.diskBytes)}::int8, true, false,
              ${textColumn(asked.refusedBy ?? [])}::text[] from taken)
          select id as "hostId", kind as runtime from taken`

      const surveyHosts = (asked: Asked) => sql<Survey>`
          select count(*) filter (where h.fits and h.is_ready)::int4 as fitting, count(*) filter (where h.fits and h.is_awaited)::int4 as awaited,
            count(*)::int4 as "ofKind", count(*) filter (where h.network_refused is null)::int4 as "withNetwork",
            coalesce(min(h.kind) filter (where h.fits and h.is_awaited), min(h.kind)) as kind
          from (
            select h.*, ${hasRoom(asked)} and ${suits(asked)} as fits, ${isReady} as is_ready, ${isAwaited} as is_awaited from hosts h) h
          where (${asked.kind}::text is null or h.kind = ${asked.kind}::text)
            and not exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(removedHostStates)}::text[]))`

      const present = sql.literal(
        `p.is_settled as "isSettled", (select a.status from actors a where a.id = p.host_id and a.kind = 'host') as status`
      )

      /** Deletes one reservation and returns its resources to the host. */
      const giveBack = (which: Statement.Fragment) => sql<{ readonly refusedBy: ReadonlyArray<string> }>`
            with released as (
              delete from host_promises where ${which}
              returning host_id, disk_bytes, refused_by, case when is_up then vcpus else 0 end as vcpus,
                case when is_up then memory_bytes else 0 end as memory_bytes)
            update hosts h set vcpus_promised = h.vcpus_promised - r.vcpus, memory_promised = h.memory_promised - r.memory_bytes,
              disk_promised = h.disk_promised - r.disk_bytes
            from released r where h.id = r.host_id
            returning r.refused_by as "refusedBy"`

      const raisePromise = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Raised,
        execute: (sandboxId) => sql`
          with down as (
            select host_id, vcpus, memory_bytes from host_promises where sandbox_id = ${sandboxId} and not is_up
            for no key update),
          taken as (
            update hosts h set vcpus_promised = h.vcpus_promised + d.vcpus, memory_promised = h.memory_promised + d.memory_bytes
            from down d
            where h.id = d.host_id and h.vcpus_promised + d.vcpus <= h.vcpus and h.memory_promised + d.memory_bytes <= h.memory_bytes
            returning h.id),
          raised as (update host_promises p set is_up = true from taken t where p.sandbox_id = ${sandboxId})
          select host_id as "hostId", is_up or exists (select 1 from taken) as "isUp", ${present} from host_promises p where sandbox_id = ${sandboxId}`
      })

      const findPromise = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Raised,
        execute: (sandboxId) => sql`
          select host_id as "hostId", is_up as "isUp", ${present} from host_promises p where sandbox_id = ${sandboxId}`
      })

      const findKind = SqlSchema.findOne({
        Request: Schema.String,
        Result: Schema.Struct({ kind: Schema.Literals(["vm", "namespace"]) }),
        execute: (sandboxId) =>
          sql`select ${sql.literal(fieldOf("actors", "runtime", "text"))} as kind from actors where id = ${sandboxId}`
      })

      const take = (asked: Asked) => Effect.map(Effect.orDie(takeRoom(asked)), ([taken]): Place | null => taken ?? null)

      const survey = (asked: Asked) => Effect.map(Effect.orDie(surveyHosts(asked)), ([found]) => found!)

      const recall = (sandboxId: string): Raised | null => {
        const taken = justTaken.get(sandboxId)
        justTaken.delete(sandboxId)
        return taken !== undefined && performance.now() - taken.at < justNowMs ? taken.raised : null
      }

      const raise = (sandboxId: string) =>
        raisePromise(sandboxId).pipe(
          // Another call raised it while this statement waited; the statement sees the older row.
          Effect.flatMap((raised) =>
            Option.isSome(raised) && !raised.value.isUp ? findPromise(sandboxId) : Effect.succeed(raised)
          ),
          Effect.orDie,
          Effect.map((raised) => {
            if (Option.isNone(raised)) return null
            if (raised.value.isSettled) hosts.set(sandboxId, raised.value.hostId)
            return raised.value
          })
        )

      return Reservations.of({
        hostOf,
        take: (asked) =>
          Effect.tap(take(asked), (taken) =>
            Effect.sync(() => {
              if (taken === null || taken.hostId === null) return
              const raised = { hostId: taken.hostId, isUp: true, isSettled: false, status: "ready" }
              justTaken.set(asked.sandboxId, { raised, at: performance.now() })
            })
          ),
        takeLate: Effect.fnUntraced(function* ({ volumeBytes: diskBytes, ...spec }) {
          const { kind } = yield* Effect.orDie(findKind(spec.sandboxId))
          const asked = { ...spec, diskBytes, kind }
          const taken = yield* take(asked)
          if (taken !== null && taken.hostId !== null) return { hostId: taken.hostId }
          const { fitting, awaited } = yield* survey(asked)
          return fitting + awaited > 0 ? "soon" : null
        }),
        survey,
        raise: (sandboxId, generation) =>
          Effect.suspend(() => {
            const recalled = recall(sandboxId)
            // A later boot follows a stop, which has freed vCPUs and memory.
            return recalled === null || generation !== firstGeneration ? raise(sandboxId) : Effect.succeed(recalled)
          }),
        settle: (sandboxId, hostId) =>
          // Not flushed separately: the commit that says it runs comes later, and flushes all earlier writes.
          sql`
            with unflushed as (select set_config('synchronous_commit', 'off', true))
            update host_promises set is_settled = true from unflushed where sandbox_id = ${sandboxId} and host_id = ${hostId} returning 1`.pipe(
            Effect.orDie,
            Effect.map((rows) => {
              if (rows.length === 0) return false
              hosts.set(sandboxId, hostId)
              return true
            })
          ),
        move: Effect.fnUntraced(function* ({ volumeBytes: diskBytes, ...spec }, from) {
          const { kind } = yield* Effect.orDie(findKind(spec.sandboxId))
          let refusedBy: ReadonlyArray<string> = []
          const moved = Effect.gen(function* () {
            const [left] = yield* giveBack(sql`sandbox_id = ${spec.sandboxId} and host_id = ${from} and not is_settled`)
            if (left === undefined) return true
            refusedBy = [...left.refusedBy, from]
            const taken = yield* take({ ...spec, diskBytes, kind, refusedBy })
            return taken === null ? yield* new NowhereElse() : true
          })
          return yield* sql.withTransaction(moved).pipe(
            Effect.as("moved" as const),
            Effect.catchTag("NowhereElse", () =>
              Effect.map(survey({ ...spec, diskBytes, kind, refusedBy }), ({ fitting, awaited }) =>
                fitting + awaited > 0 ? ("soon" as const) : null
              )
            ),
            Effect.orDie
          )
        }),
        lower: (sandboxId, generation) =>
          sql`
            with lowered as (
              update host_promises p set is_up = false
              where p.sandbox_id = ${sandboxId} and p.is_up and not exists (
                select 1 from actors a
                where a.id = p.sandbox_id and ${sql.literal(generationOf("a"))} > ${generation}::int4)
              returning host_id, vcpus, memory_bytes)
            update hosts h set vcpus_promised = h.vcpus_promised - l.vcpus, memory_promised = h.memory_promised - l.memory_bytes
            from lowered l where h.id = l.host_id`.pipe(Effect.orDie, Effect.asVoid),
        release: (sandboxId) =>
          Effect.suspend(() => {
            hosts.delete(sandboxId)
            justTaken.delete(sandboxId)
            return giveBack(sql`sandbox_id = ${sandboxId}`)
          }).pipe(Effect.orDie, Effect.asVoid)
      })
    })
  )
}
