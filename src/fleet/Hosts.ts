/**
 * The hosts of a fleet for their operator: the known facts of each, and the operator's requests. It uses only the database, so it works without a
 * running service. A request is a row that stays until a service has passed it to the host's actor, and a NOTIFY so that this happens immediately.
 */

import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import type { OnlyHere } from "../../machines/hostRemoval.ts"
import { Asked, hostTransitionsMax } from "../../schemas/console/Hosts.ts"
import { Reason } from "../../schemas/Sandbox.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf, jsonFieldOf } from "../store/SnapshotFields.ts"
import { absentStates, emptiedStates, firstHostState, removedHostStates } from "./hostStates.ts"
import { countImagesOnlyOn } from "./imagesOnlyHere.ts"
import { countOnlyOn } from "./snapshotsOnlyHere.ts"

/** The channel of the notifications, whose payload is the host's id. */
export const hostsChannel = "atoll_hosts"

const HostRow = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  addressHost: Schema.String,
  addressPort: Schema.Int,
  version: Schema.String,
  driver: Schema.String,
  kind: Schema.String,
  /** State of its actor; null: it has none yet. */
  state: Schema.NullOr(Schema.String),
  /** The state that the operator wants. */
  wish: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Reason),
  /** When its present state began, epoch milliseconds. */
  since: Schema.NullOr(Schema.Int),
  /** The operator's request that its actor has not received yet. */
  asked: Schema.NullOr(Asked),
  vcpus: Schema.Int,
  memoryBytes: Int8,
  diskBytes: Int8,
  parallelStarts: Schema.Int,
  vcpusPromised: Schema.Int,
  memoryPromised: Int8,
  diskPromised: Int8,
  networkRefused: Schema.NullOr(Schema.String),
  /** Sandboxes that live there, and how many of them have, or will get, a runtime. */
  sandboxes: Schema.Int,
  sandboxesUp: Schema.Int,
  /** Sandboxes whose volume is missing there. */
  sandboxesMissing: Schema.Int,
  /** Snapshots that are lost with it, and those of them that cannot be copied. Null: it is neither drained nor lost. */
  snapshotsOnlyHere: Schema.NullOr(Schema.Int),
  snapshotsBound: Schema.NullOr(Schema.Int),
  /** Uploaded images that are lost with it. Null as these. */
  imagesOnlyHere: Schema.NullOr(Schema.Int),
  joinedAt: Int8,
  seenAt: Int8
})
export type HostRow = typeof HostRow.Type

/** As far as it was counted. */
export const onlyHereOf = ({ snapshotsOnlyHere, snapshotsBound, imagesOnlyHere }: HostRow): OnlyHere => ({
  snapshots: snapshotsOnlyHere ?? 0,
  bound: snapshotsBound ?? 0,
  images: imagesOnlyHere ?? 0
})

/** An entry of a host's log. */
const Step = Schema.Struct({
  revision: Int8,
  /** Epoch milliseconds. */
  at: Int8,
  event: Schema.String,
  from: Schema.NullOr(Schema.String),
  to: Schema.String,
  cause: Schema.String
})
export type HostStep = typeof Step.Type

/** A page of hosts. */
const Wanted = Schema.Struct({
  limit: Schema.Int,
  /** The id of the previous host; null: from the first. */
  after: Schema.NullOr(Schema.String),
  /** Null: any state but gone. */
  state: Schema.NullOr(Schema.String),
  /** A part of the label, in any case, or the beginning of the id; empty: all hosts. */
  find: Schema.String
})
export type WantedHosts = typeof Wanted.Type

export interface FoundHosts {
  /** At most `limit`. */
  readonly rows: ReadonlyArray<HostRow>
  readonly hasMore: boolean
  /** Total of all pages. */
  readonly matching: number
  /** Hosts by state, including removed ones. */
  readonly states: Readonly<Record<string, number>>
}

const Count = Schema.Struct({ state: Schema.String, all: Schema.Int, matching: Schema.Int })

const SnapshotCount = Schema.Struct({ only_here: Schema.Int, bound: Schema.Int })

/** The steps of a host, newest first. */
const stepsOf = (sql: SqlClient.SqlClient) => {
  const findSteps = SqlSchema.findAll({
    Request: Schema.String,
    Result: Step,
    execute: (hostId) => sql`
      select revision, at, event ->> 'type' as event, from_state as "from", to_state as "to", cause
      from transitions where actor_id = ${hostId} and (from_state is distinct from to_state or cause = 'operator')
      order by revision desc limit ${hostTransitionsMax}`
  })
  return (hostId: string) => Effect.orDie(findSteps(hostId))
}

const snapshotsLostWith = (sql: SqlClient.SqlClient) => {
  const countSnapshots = SqlSchema.findOne({
    Request: Schema.String,
    Result: SnapshotCount,
    execute: (hostId) => countOnlyOn(sql, sql`${hostId}::text`)
  })
  return (hostId: string) =>
    Effect.map(Effect.orDie(countSnapshots(hostId)), ({ only_here: onlyHere, bound }) => ({ onlyHere, bound }))
}

export interface SnapshotsLost {
  readonly onlyHere: number
  /** Of these, those with memory: they cannot be copied. */
  readonly bound: number
}

const imagesLostWith = (sql: SqlClient.SqlClient) => {
  const countImages = SqlSchema.findOne({
    Request: Schema.String,
    Result: Schema.Struct({ images: Schema.Int }),
    execute: (hostId) => countImagesOnlyOn(sql, sql`${hostId}::text`)
  })
  return (hostId: string) => Effect.map(Effect.orDie(countImages(hostId)), ({ images }) => images)
}

/** States in which the operator sees how many snapshots and uploaded images are only there. */
const leavingStates = [...emptiedStates, ...absentStates.filter((state) => !removedHostStates.includes(state))]

export class Hosts extends Context.Service<
  Hosts,
  {
    /** All hosts that ever joined, by label. */
    readonly list: Effect.Effect<ReadonlyArray<HostRow>>
    /** A page. It reads only the reservations of the hosts on that page. */
    readonly page: (wanted: WantedHosts) => Effect.Effect<FoundHosts>
    /** Changes of the host's state and the operator's requests, newest first, without lease renewals. */
    readonly steps: (hostId: string) => Effect.Effect<ReadonlyArray<HostStep>>
    readonly find: (hostId: string) => Effect.Effect<HostRow | null>
    /** How many uploaded images are lost with the host. */
    readonly imagesOn: (hostId: string) => Effect.Effect<number>
    /** How many snapshots are lost with the host in its present state. */
    readonly snapshotsOn: (hostId: string) => Effect.Effect<SnapshotsLost>
    /** Returns once the request is stored. It replaces an earlier request that was not passed on yet. */
    readonly ask: (hostId: string, asked: Asked) => Effect.Effect<void>
  }
>()("atoll/fleet/Hosts") {
  static readonly layer = Layer.effect(
    Hosts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const isLeaving = sql`a.status = any(${textColumn(leavingStates)}::text[])`
      const leavingId = sql`case when ${isLeaving} then h.id end`

      /** @param chosen A relation with the columns of `hosts`. */
      const rowsOf = (chosen: Statement.Fragment) => sql`
        select h.id, h.label, h.address_host as "addressHost", h.address_port as "addressPort", h.version, h.driver, h.kind,
          a.status as state, ${sql.literal(fieldOf("a", "wish", "text"))} as wish, ${sql.literal(jsonFieldOf("a", "reason"))} as reason,
          ${sql.literal(fieldOf("a", "updatedAt", "float8"))} as since, h.asked,
          h.vcpus, h.memory_bytes as "memoryBytes", h.disk_bytes as "diskBytes", h.parallel_starts as "parallelStarts",
          h.vcpus_promised as "vcpusPromised", h.memory_promised as "memoryPromised", h.disk_promised as "diskPromised",
          h.network_refused as "networkRefused", h.joined_at as "joinedAt", h.seen_at as "seenAt",
          p.sandboxes, p.up as "sandboxesUp", p.missing as "sandboxesMissing",
          s.only_here as "snapshotsOnlyHere", s.bound as "snapshotsBound", i.images as "imagesOnlyHere"
        from (${chosen}) h left join actors a on a.id = h.id and a.kind = 'host'
          left join lateral (${countOnlyOn(sql, leavingId)}) as s on ${isLeaving}
          left join lateral (${countImagesOnlyOn(sql, leavingId)}) as i on ${isLeaving},
          lateral (
            select count(*)::int4 as sandboxes, (count(*) filter (where is_up))::int4 as up, (count(*) filter (where is_missing))::int4 as missing
            from host_promises where host_id = h.id) as p
        order by h.label, h.id`

      const findAll = SqlSchema.findAll({
        Request: Schema.NullOr(Schema.String),
        Result: HostRow,
        execute: (hostId) => rowsOf(sql`select * from hosts where ${hostId}::text is null or id = ${hostId}`)
      })

      const withStates = sql`
        select h.*, coalesce(a.status, ${firstHostState}::text) as state from hosts h left join actors a on a.id = h.id and a.kind = 'host'`

      const matches = ({ state, find }: WantedHosts) => sql`
        (${find}::text = '' or position(lower(${find}::text) in lower(label)) > 0 or starts_with(id, ${find}::text))
        and case when ${state}::text is null then state <> all(${textColumn(removedHostStates)}::text[]) else state = ${state}::text end`

      const findPage = SqlSchema.findAll({
        Request: Wanted,
        Result: HostRow,
        execute: (wanted) =>
          rowsOf(sql`
            select * from (${withStates}) s
            where ${matches(wanted)}
              and (${wanted.after}::text is null or (label, id) > (select label, id from hosts where id = ${wanted.after}))
            order by label, id limit ${wanted.limit + 1}`)
      })

      const countAll = SqlSchema.findAll({
        Request: Wanted,
        Result: Count,
        execute: (wanted) => sql`
          select state, count(*)::int4 as "all", (count(*) filter (where ${matches(wanted)}))::int4 as matching
          from (${withStates}) s group by state`
      })

      const page = Effect.fn("Hosts.page")(function* (wanted: WantedHosts): Effect.fn.Return<FoundHosts> {
        const [found, counts] = yield* Effect.orDie(Effect.all([findPage(wanted), countAll(wanted)]))
        return {
          rows: found.slice(0, wanted.limit),
          hasMore: found.length > wanted.limit,
          matching: counts.reduce((sum, { matching }) => sum + matching, 0),
          states: Object.fromEntries(counts.map(({ state, all }) => [state, all]))
        }
      })

      return Hosts.of({
        list: Effect.suspend(() => Effect.orDie(findAll(null))),
        page,
        steps: stepsOf(sql),
        find: (hostId) => Effect.map(Effect.orDie(findAll(hostId)), ([row]) => row ?? null),
        snapshotsOn: snapshotsLostWith(sql),
        imagesOn: imagesLostWith(sql),
        ask: (hostId, asked) =>
          sql
            .withTransaction(
              Effect.andThen(
                sql`update hosts set asked = ${asked}, asked_token = ${randomUUID()} where id = ${hostId}`,
                sql`select pg_notify(${hostsChannel}, ${hostId})`
              )
            )
            .pipe(Effect.orDie, Effect.asVoid)
      })
    })
  )
}
