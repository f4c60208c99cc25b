/**
 * The hosts of a fleet for their operator: what is known of each, and what is wanted of it. It knows the database only, so it works whether a service
 * runs or not: a wish is a row that stays until a service has told it to the host's actor, and a notification so that it is told at once.
 */
import { randomUUID } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Reason } from "../../schemas/Sandbox.ts"
import { Int8 } from "../store/Columns.ts"

/** The channel of the notifications; each carries the host's id. */
export const hostsChannel = "atoll_hosts"

/** An event of the host's machine, as it stands in its row. */
export const Asked = Schema.Literals(["CORDON", "DRAIN", "UNCORDON", "REMOVE", "REMOVE_FORCED"])
export type Asked = typeof Asked.Type

export const HostRow = Schema.Struct({
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

export class Hosts extends Context.Service<
  Hosts,
  {
    /** All that ever joined, by their labels. */
    readonly list: Effect.Effect<ReadonlyArray<HostRow>>
    readonly find: (hostId: string) => Effect.Effect<HostRow | null>
    /** Returns when the wish is stored. The one before it is forgotten, if it was not told yet. */
    readonly ask: (hostId: string, asked: Asked) => Effect.Effect<void>
  }
>()("atoll/fleet/Hosts") {
  static readonly layer = Layer.effect(
    Hosts,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient

      const findAll = SqlSchema.findAll({
        Request: Schema.NullOr(Schema.String),
        Result: HostRow,
        execute: (hostId) => sql`
          select h.id, h.label, h.address_host as "addressHost", h.address_port as "addressPort", h.version, h.driver, h.kind,
            a.status as state, a.snapshot #>> '{context,wish}' as wish, a.snapshot #> '{context,reason}' as reason,
            (a.snapshot #>> '{context,updatedAt}')::float8 as since, h.asked,
            h.vcpus, h.memory_bytes as "memoryBytes", h.disk_bytes as "diskBytes", h.parallel_starts as "parallelStarts",
            h.vcpus_promised as "vcpusPromised", h.memory_promised as "memoryPromised", h.disk_promised as "diskPromised",
            h.network_refused as "networkRefused", h.joined_at as "joinedAt", h.seen_at as "seenAt",
            p.sandboxes, p.up as "sandboxesUp", p.missing as "sandboxesMissing"
          from hosts h left join actors a on a.id = h.id and a.kind = 'host',
            lateral (
              select count(*)::int4 as sandboxes, (count(*) filter (where is_up))::int4 as up, (count(*) filter (where is_missing))::int4 as missing
              from host_promises where host_id = h.id) as p
          where ${hostId}::text is null or h.id = ${hostId}
          order by h.label, h.id`
      })

      return Hosts.of({
        list: Effect.suspend(() => Effect.orDie(findAll(null))),
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
