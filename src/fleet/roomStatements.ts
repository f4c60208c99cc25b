/**
 * Room on hosts for a Sandbox: finds the best host with enough resources left, and reserves them there.
 *
 * Parts of a vCPU count as a whole one.
 *
 * The reservations are in `host_promises`, their sums in the `…_promised` columns of `hosts`: names that processes of two versions share.
 */
import { randomBytes } from "node:crypto"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import type { Place, Wanted } from "../sandbox/Placement.ts"
import { textColumn } from "../store/Columns.ts"
import { fieldOf } from "../store/SnapshotFields.ts"
import { placeableStates, removedHostStates, silentStates } from "./hostStates.ts"

/** Hosts on each side of the random starting point. */
const fewHosts = 8
/** A host that lacks the image pulls it at the boot, so one that has it may be fuller by this share. */
const imageWorth = 0.25

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
  /** Of those: hosts that run images. */
  readonly withImages: number
  /** Of those: hosts that build images. */
  readonly withBuilds: number
  /** The kind of a present host, else of an awaited one. */
  readonly kind: "vm" | "namespace" | null
}

/** Conditions about a host `h`. */
const roomConditions = (sql: SqlClient.SqlClient) => {
  const hasRoom = ({ vcpus, memoryBytes, diskBytes }: Asked) => sql`
    h.vcpus_promised + ${Math.ceil(vcpus)}::int4 <= h.vcpus
    and h.memory_promised + ${BigInt(memoryBytes)}::int8 <= h.memory_bytes
    and h.disk_promised + ${BigInt(diskBytes)}::int8 <= h.disk_bytes`

  const isAllowed = ({ hostId = null }: Asked) => sql`(${hostId}::text is null or h.id = ${hostId}::text)`

  const suits = (asked: Asked) => {
    const { kind, networkEnabled, refusedBy = [], image, builder = false } = asked
    return sql`
    ${isAllowed(asked)} and (${kind}::text is null or h.kind = ${kind}::text) and (not ${networkEnabled}::bool or h.network_refused is null)
    and h.id <> all(${textColumn(refusedBy)}::text[]) and (${image === undefined}::bool or h.runs_images)
    and (not ${builder}::bool or h.builds_images)`
  }

  const hasImage = ({ image }: Asked) => sql`
    exists (select 1 from host_images i where i.host_id = h.id and i.digest = ${image?.digest ?? null}::text)`

  const isReady = sql`
    exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(placeableStates)}::text[]))`

  /** A host with failed boots is not waited for. */
  const isAwaited = sql`
    exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(silentStates)}::text[])
      and coalesce(${sql.literal(fieldOf("a", "failures", "int4"))}, 0) = 0)`

  /** Usage of the scarcest resource with this Sandbox, from 0 to 1. */
  const fullness = ({ vcpus, memoryBytes, diskBytes }: Asked) => sql`
    greatest(
      (h.vcpus_promised + ${Math.ceil(vcpus)}::int4)::float8 / h.vcpus,
      (h.memory_promised + ${BigInt(memoryBytes)}::int8)::float8 / h.memory_bytes,
      (h.disk_promised + ${BigInt(diskBytes)}::int8)::float8 / h.disk_bytes)`

  return { hasRoom, hasImage, isAllowed, suits, isReady, isAwaited, fullness }
}

export const roomStatements = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const { placement } = yield* Settings
  const { hasRoom, hasImage, isAllowed, suits, isReady, isAwaited, fullness } = roomConditions(sql)

  const best = placement === "spread" ? sql`asc` : sql`desc`

  /** What the best host has least or most of. A Sandbox without an image costs no look at the hosts' images. */
  const rank = (asked: Asked) => {
    if (asked.image === undefined) return sql`${fullness(asked)} ${best}`
    const worth = placement === "spread" ? -imageWorth : imageWorth
    return sql`${fullness(asked)} + case when ${hasImage(asked)} then ${worth}::float8 else 0 end ${best}`
  }

  const ready = (asked: Asked) => sql`${hasRoom(asked)} and ${suits(asked)} and ${isReady}`

  /** A few of many hosts, from a random start: the best of these is good enough, and concurrent callers see others. `pack` searches all for the fullest. */
  const candidates = (asked: Asked) => {
    if (placement === "pack") return sql`candidates as materialized (select h.id from hosts h where ${ready(asked)})`
    const from = `host_${randomBytes(12).toString("hex")}`
    return sql`candidates as materialized (
        (select h.id from hosts h where h.id >= ${from} and ${ready(asked)} order by h.id limit ${fewHosts})
        union all
        (select h.id from hosts h where h.id < ${from} and ${ready(asked)} order by h.id limit ${fewHosts}))`
  }

  /** Reserves the resources of the best ready host that no other reservation has locked; no row: there is none. */
  const takeRoom = (asked: Asked) => sql<{ readonly hostId: string; readonly runtime: "vm" | "namespace" }>`
      with ${candidates(asked)},
      chosen as (
        select h.id from hosts h join candidates c on c.id = h.id where ${hasRoom(asked)}
        order by ${rank(asked)}, random() limit 1
        for no key update of h skip locked),
      taken as (
        update hosts h set vcpus_promised = h.vcpus_promised + ${Math.ceil(asked.vcpus)}::int4,
          memory_promised = h.memory_promised + ${BigInt(asked.memoryBytes)}::int8,
          disk_promised = h.disk_promised + ${BigInt(asked.diskBytes)}::int8
        from chosen c where h.id = c.id and ${hasRoom(asked)}
        returning h.id, h.kind),
      promised as (
        insert into host_promises (sandbox_id, host_id, vcpus, memory_bytes, disk_bytes, is_up, is_settled, refused_by)
        select ${asked.sandboxId}, id, ${Math.ceil(asked.vcpus)}::int4, ${BigInt(asked.memoryBytes)}::int8, ${BigInt(asked.diskBytes)}::int8, true, false,
          ${textColumn(asked.refusedBy ?? [])}::text[] from taken)
      select id as "hostId", kind as runtime from taken`

  const surveyHosts = (asked: Asked) => sql<Survey>`
      select count(*) filter (where h.fits and h.is_ready)::int4 as fitting, count(*) filter (where h.fits and h.is_awaited)::int4 as awaited,
        count(*)::int4 as "ofKind", count(*) filter (where h.network_refused is null)::int4 as "withNetwork",
        count(*) filter (where h.runs_images)::int4 as "withImages", count(*) filter (where h.builds_images)::int4 as "withBuilds",
        coalesce(min(h.kind) filter (where h.fits and h.is_awaited),
          min(h.kind) filter (where (${asked.image === undefined}::bool or h.runs_images) and (not ${asked.builder === true}::bool or h.builds_images)),
          min(h.kind)) as kind
      from (
        select h.*, ${hasRoom(asked)} and ${suits(asked)} as fits, ${isReady} as is_ready, ${isAwaited} as is_awaited from hosts h) h
      where ${isAllowed(asked)} and (${asked.kind}::text is null or h.kind = ${asked.kind}::text)
        and not exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(removedHostStates)}::text[]))`

  const findWithDisk = (kind: "vm" | "namespace", diskBytes: number) => sql<{ readonly id: string }>`
      select h.id from hosts h where h.kind = ${kind} and h.disk_promised + ${BigInt(diskBytes)}::int8 <= h.disk_bytes and ${isReady}
      order by h.disk_bytes - h.disk_promised desc, h.id limit ${fewHosts}`

  return {
    /** A few ready hosts that have room for a volume of that size, the emptiest first. */
    withDisk: (kind: "vm" | "namespace", diskBytes: number) =>
      Effect.map(Effect.orDie(findWithDisk(kind, diskBytes)), (rows) => rows.map(({ id }) => id)),
    take: (asked: Asked) => Effect.map(Effect.orDie(takeRoom(asked)), ([taken]): Place | null => taken ?? null),
    survey: (asked: Asked): Effect.Effect<Survey> => Effect.map(Effect.orDie(surveyHosts(asked)), ([found]) => found!)
  }
})
