/**
 * Joins, beats and departures of hosts, on the service's side: stores what hosts report, and tells their actors about changes.
 *
 * A host is identified by its data folder. A join is refused if the folder belongs to another database (its Sandboxes would be destroyed as
 * unknown), if the driver is not the one that made its Sandboxes, if another process of the same folder still beats, and if the host has the
 * folder's id but not its key (other hosts of the fleet may know the id, and would get its Sandboxes). A certificate that names a host is valid for
 * only that host: it joins under no second id until the operator removes the first. So an untrusted host attracts no more Sandboxes than
 * one host does.
 *
 * The database's clock dates beats: the clocks of the services need not agree.
 */
import { createHash } from "node:crypto"
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { Settings } from "../Config.ts"
import type { HostCapacity, HostDescription } from "../runtime/distant/HostDescription.ts"
import { HostUnknown, JoinRefused } from "../runtime/distant/JoinRpcs.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { databaseNow } from "./databaseNow.ts"
import { HostActors } from "./HostActors.ts"
import { isHeard, isRemovedHost, removedHostStates } from "./hostStates.ts"

/** Beats in a lease. */
const beatsPerLease = 5
/** A host process silent for half of its lease counts as gone: a living one beats twice in that time. */
const silentAfter = 0.5

interface Beat {
  readonly hostId: string
  readonly boot: string
  readonly capacity: HostCapacity
  readonly networkRefused: string | null
}

export class HostJoins extends Context.Service<
  HostJoins,
  {
    /**
     * Joins the host and returns its database as `installation`. The host counts as present while it beats.
     *
     * @param key The folder's key. Null: the host sends none, which is accepted if it never had one.
     * @param name The name in its certificate; null: none.
     */
    readonly join: (
      description: HostDescription,
      key?: string | null,
      name?: string | null
    ) => Effect.Effect<{ readonly installation: string; readonly beatEveryMs: number }, JoinRefused>
    readonly beat: (beat: Beat) => Effect.Effect<void, HostUnknown>
    readonly leave: (left: { readonly hostId: string; readonly boot: string }) => Effect.Effect<void>
  }
>()("atoll/fleet/HostJoins") {
  static readonly layer = Layer.effect(
    HostJoins,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const actors = yield* HostActors
      const { hostLeaseMs: leaseMs, hostLostAfterMs: lostAfterMs } = yield* Settings
      const now = databaseNow(sql)

      const findInstallation = SqlSchema.findOne({
        Request: Schema.Void,
        Result: Schema.Struct({ id: Schema.String }),
        execute: () => sql`select id from installation`
      })
      const findHost = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({
          boot: Schema.String,
          driver: Schema.String,
          keyDigest: Schema.NullOr(Schema.Uint8Array),
          silentForMs: Int8,
          state: Schema.NullOr(Schema.String),
          sandboxes: Schema.Int
        }),
        execute: (hostId) => sql`
          select h.boot, h.driver, h.key_digest as "keyDigest", ${now} - h.seen_at as "silentForMs", a.status as state,
            (select count(*)::int4 from host_promises p where p.host_id = h.id) as sandboxes
          from hosts h left join actors a on a.id = h.id and a.kind = 'host'
          where h.id = ${hostId} for update of h`
      })

      const refusal = (message: string, isFinal: boolean) => new JoinRefused({ message, isFinal })

      const findNamesake = SqlSchema.findOneOption({
        Request: Schema.Struct({ name: Schema.String, hostId: Schema.String }),
        Result: Schema.Struct({ id: Schema.String, label: Schema.String }),
        execute: ({ name, hostId }) => sql`
          select h.id, h.label from hosts h
          where h.cert_name = ${name} and h.id <> ${hostId}
            and not exists (select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(removedHostStates)}::text[]))
          limit 1`
      })

      const insert = (it: HostDescription, digest: Uint8Array | null, name: string | null) => sql`
        insert into hosts (id, key_digest, cert_name, label, address_host, address_port, boot, version, driver, kind, vcpus, memory_bytes, disk_bytes, parallel_starts,
          suspends, network_filtered, network_refused, joined_at, seen_at)
        values (${it.hostId}, ${digest}, ${name}, ${it.label}, ${it.address.host}, ${it.address.port}, ${it.boot}, ${it.version}, ${it.driver}, ${it.kind},
          ${it.capacity.vcpus}, ${BigInt(it.capacity.memoryBytes)}, ${BigInt(it.capacity.diskBytes)}, ${it.capacity.parallelStarts},
          ${it.suspends}, ${it.networkFiltered}, ${it.networkRefused}, ${now}, ${now})
        on conflict (id) do update set key_digest = excluded.key_digest, cert_name = excluded.cert_name, label = excluded.label, address_host = excluded.address_host, address_port = excluded.address_port,
          boot = excluded.boot, version = excluded.version, driver = excluded.driver, kind = excluded.kind, vcpus = excluded.vcpus,
          memory_bytes = excluded.memory_bytes, disk_bytes = excluded.disk_bytes, parallel_starts = excluded.parallel_starts,
          suspends = excluded.suspends, network_filtered = excluded.network_filtered, network_refused = excluded.network_refused,
          joined_at = coalesce(nullif(hosts.joined_at, 0), excluded.joined_at), seen_at = excluded.seen_at`

      const register = Effect.fnUntraced(function* (it: HostDescription, digest: Buffer | null, name: string | null) {
        const installation = yield* findInstallation()
        if (it.installation !== null && it.installation !== installation.id) {
          return yield* refusal(
            `The data folder ${it.label} belongs to another database, whose Sandboxes would be destroyed here as unknown. Set ATOLL_FLEET_JOIN to services of that database, or ATOLL_DATA_DIR to another folder.`,
            true
          )
        }
        const found = yield* findHost(it.hostId)
        const known = found._tag === "Some" ? found.value : null
        if (known !== null && isRemovedHost(known.state)) {
          return yield* refusal(
            `This host was taken out of the fleet, and its Sandboxes with it. To let the machine join as a new host, set ATOLL_DATA_DIR to an empty folder.`,
            true
          )
        }
        if (known !== null && known.keyDigest !== null && digest?.equals(known.keyDigest) !== true) {
          return yield* refusal(
            `The data folder ${it.label} has the id of a host of this fleet, and not its key (host.key). Put that file back; or to let the machine join as a new host, set ATOLL_DATA_DIR to an empty folder.`,
            true
          )
        }
        if (name !== null) {
          // Two concurrent joins under one name are serialized.
          yield* sql`select pg_advisory_xact_lock(hashtextextended(${`host name ${name}`}, 0))`
          const namesake = yield* findNamesake({ name, hostId: it.hostId })
          if (namesake._tag === "Some") {
            return yield* refusal(
              `The certificate of this host is for ${name}, which is the host ${namesake.value.id} (${namesake.value.label}). Give each host its own certificate; or if this host replaces that one, first run: atoll hosts remove ${namesake.value.id}`,
              false
            )
          }
        }
        const driver = known !== null && known.sandboxes > 0 ? known.driver : null
        if (driver !== null && driver !== it.driver) {
          return yield* refusal(
            `The Sandboxes of the data folder ${it.label} were made with the driver ${driver}, and this process has ${it.driver}. Set ATOLL_RUNTIME=${driver}.`,
            true
          )
        }
        if (
          known !== null &&
          known.boot !== "" &&
          known.boot !== it.boot &&
          Math.abs(known.silentForMs) < silentAfter * leaseMs
        ) {
          return yield* refusal(
            `Another process of this host sent a beat ${Math.max(0, known.silentForMs)} ms ago. If two machines have copies of one data folder, stop one of them.`,
            false
          )
        }
        yield* insert(it, digest, name)
        const isKnown = known?.boot === it.boot && isHeard(known.state)
        return { installation: installation.id, isKnown }
      })

      const join = Effect.fn("HostJoins.join")(function* (
        it: HostDescription,
        key: string | null = null,
        name: string | null = null
      ) {
        const digest = key === null ? null : createHash("sha256").update(key).digest()
        const { installation, isKnown } = yield* sql
          .withTransaction(register(it, digest, name))
          .pipe(Effect.catchTag(["SqlError", "SchemaError", "NoSuchElementError"], Effect.die))
        // The host joined through another service, whose actors may be unreachable. A host that its own actor already knows waits for no actor.
        if (!isKnown) yield* actors.joined(it.hostId, it.boot)
        return { installation, beatEveryMs: Math.ceil(leaseMs / beatsPerLease) }
      })

      const findBeaten = SqlSchema.findOneOption({
        Request: Schema.Struct({
          hostId: Schema.String,
          boot: Schema.String,
          vcpus: Schema.Int,
          memoryBytes: Schema.BigInt,
          diskBytes: Schema.BigInt,
          parallelStarts: Schema.Int,
          networkRefused: Schema.NullOr(Schema.String)
        }),
        Result: Schema.Struct({ state: Schema.NullOr(Schema.String) }),
        execute: (it) => sql`
          update hosts h set vcpus = ${it.vcpus}, memory_bytes = ${it.memoryBytes}, disk_bytes = ${it.diskBytes},
            parallel_starts = ${it.parallelStarts}, network_refused = ${it.networkRefused}, seen_at = ${now}
          where id = ${it.hostId} and boot = ${it.boot}
          returning (select status from actors a where a.id = h.id and a.kind = 'host') as state`
      })

      const beat = Effect.fnUntraced(function* ({ hostId, boot, capacity, networkRefused }: Beat) {
        const found = yield* Effect.orDie(
          findBeaten({
            hostId,
            boot,
            vcpus: capacity.vcpus,
            memoryBytes: BigInt(capacity.memoryBytes),
            diskBytes: BigInt(capacity.diskBytes),
            parallelStarts: capacity.parallelStarts,
            networkRefused
          })
        )
        const state = found._tag === "Some" ? found.value.state : null
        if (state === null || isRemovedHost(state)) return yield* new HostUnknown()
        if (!isHeard(state)) {
          yield* actors.tell(hostId, { type: "SEEN", leaseMs })
        }
      })

      const leave = Effect.fnUntraced(function* ({ hostId, boot }: { readonly hostId: string; readonly boot: string }) {
        const left = yield* sql`update hosts set boot = '' where id = ${hostId} and boot = ${boot} returning 1`.pipe(
          Effect.orDie
        )
        if (left.length > 0) yield* actors.tell(hostId, { type: "LEFT", boot, lostAfterMs })
      })

      return HostJoins.of({ join, beat, leave })
    })
  )
}
