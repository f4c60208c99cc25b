/**
 * The hosts of a fleet for their operator: what is known of each, and what is wanted of it. It knows the database only, so it works whether a service
 * runs or not: a wish is a row that stays until a service has told it to the host's actor, and a notification so that it is told at once.
 */

import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema, type Statement } from "effect/sql"
import { Asked, hostTransitionsMax } from "../../schemas/console/Hosts.ts"
import { Reason } from "../../schemas/Sandbox.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { fieldOf, jsonFieldOf } from "../store/SnapshotFields.ts"
import { firstHostState, removedHostStates } from "./hostStates.ts"

/** The channel of the notifications; each carries the host's id. */
export const hostsChannel = "atoll_hosts"

const HostRow = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  addressHost: Schema.String,
  addressPort: Schema.Int,
  version: Schema.String,
  driver: Schema.String,
  kind: Schema.String,
  /** Of its actor; null: it has none yet. */
  state: Schema.NullOr(Schema.String),
  /** What the operator wants of it. */
  wish: Schema.NullOr(Schema.String),
  reason: Schema.NullOr(Reason),
  /** Since when it is in its state, epoch milliseconds. */
  since: Schema.NullOr(Schema.Int),
  /** What it was asked for and has not been told yet. */
  asked: Schema.NullOr(Asked),
  vcpus: Schema.Int,
  memoryBytes: Int8,
  diskBytes: Int8,
  parallelStarts: Schema.Int,
  vcpusPromised: Schema.Int,
  memoryPromised: Int8,
  diskPromised: Int8,
  networkRefused: Schema.NullOr(Schema.String),
  /** Sandboxes that live there, and those of them that have a runtime or are to have one. */
  sandboxes: Schema.Int,
  sandboxesUp: Schema.Int,
  /** Of which nothing is there any more. */
  sandboxesMissing: Schema.Int,
  joinedAt: Int8,
  seenAt: Int8
})
export type HostRow = typeof HostRow.Type

/** Of a host's log. */
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

/** Which hosts are asked for, and from where on. */
const Wanted = Schema.Struct({
  limit: Schema.Int,
  /** The id of the host before; null: from the first on. */
  after: Schema.NullOr(Schema.String),
  /** Null: any but gone. */
  state: Schema.NullOr(Schema.String),
  /** A part of the label, in any case, or the beginning of the id; empty: all. */
  find: Schema.String
})
export type WantedHosts = typeof Wanted.Type

export interface FoundHosts {
  /** At most as many as were asked for. */
  readonly rows: ReadonlyArray<HostRow>
  readonly hasMore: boolean
  /** Of all pages. */
  readonly matching: number
  /** How many are in each state, of all that ever joined. */
  readonly states: Readonly<Record<string, number>>
}

const Count = Schema.Struct({ state: Schema.String, all: Schema.Int, matching: Schema.Int })

export class Hosts extends Context.Service<
  Hosts,
  {
    /** All that ever joined, by their labels. */
    readonly list: Effect.Effect<ReadonlyArray<HostRow>>
    /** Some of them: what it reads of promises is those of the hosts that it answers with. */
    readonly page: (wanted: WantedHosts) => Effect.Effect<FoundHosts>
    /** What changed the state of a host's machine, and what its operator told it, newest first: that its lease was renewed is left out. */
    readonly steps: (hostId: string) => Effect.Effect<ReadonlyArray<HostStep>>
    readonly find: (hostId: string) => Effect.Effect<HostRow | null>
    /** Returns when the wish is stored. The one before it is forgotten, if it was not told yet. */
    readonly ask: (hostId: string, asked: Asked) => Effect.Effect<void>
  }
>()("atoll/fleet/Hosts") {
  static readonly layer = Layer.effect(
    Hosts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      /** @param chosen A relation with the columns of `hosts`. */
      const rowsOf = (chosen: Statement.Fragment) => sql`
        select h.id, h.label, h.address_host as "addressHost", h.address_port as "addressPort", h.version, h.driver, h.kind,
          a.status as state, ${sql.literal(fieldOf("a", "wish", "text"))} as wish, ${sql.literal(jsonFieldOf("a", "reason"))} as reason,
          ${sql.literal(fieldOf("a", "updatedAt", "float8"))} as since, h.asked,
          h.vcpus, h.memory_bytes as "memoryBytes", h.disk_bytes as "diskBytes", h.parallel_starts as "parallelStarts",
          h.vcpus_promised as "vcpusPromised", h.memory_promised as "memoryPromised", h.disk_promised as "diskPromised",
          h.network_refused as "networkRefused", h.joined_at as "joinedAt", h.seen_at as "seenAt",
          p.sandboxes, p.up as "sandboxesUp", p.missing as "sandboxesMissing"
        from (${chosen}) h left join actors a on a.id = h.id and a.kind = 'host',
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

      const findSteps = SqlSchema.findAll({
        Request: Schema.String,
        Result: Step,
        execute: (hostId) => sql`
          select revision, at, event ->> 'type' as event, from_state as "from", to_state as "to", cause
          from transitions where actor_id = ${hostId} and (from_state is distinct from to_state or cause = 'operator')
          order by revision desc limit ${hostTransitionsMax}`
      })

      return Hosts.of({
        list: Effect.suspend(() => Effect.orDie(findAll(null))),
        page,
        steps: (hostId) => Effect.orDie(findSteps(hostId)),
        find: (hostId) => Effect.map(Effect.orDie(findAll(hostId)), ([row]) => row ?? null),
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
