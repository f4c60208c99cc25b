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
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Settings } from "../Config.ts"
import type { HostCapacity, HostDescription } from "../runtime/distant/HostDescription.ts"
import { HostUnknown, type JoinRefused } from "../runtime/distant/JoinRpcs.ts"
import { HostActors } from "./HostActors.ts"
import { isHeard, isRemovedHost } from "./hostStates.ts"
import { folderRefusal, nameRefusal, processRefusal } from "./joinRefusals.ts"
import { beatStatements, joinStatements } from "./joinStatements.ts"

/** Beats in a lease. */
const beatsPerLease = 5

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
      const { findInstallation, findHost, findNamesake, insert } = joinStatements(sql)
      const { findBeaten, markLeft } = beatStatements(sql)

      const register = Effect.fnUntraced(function* (it: HostDescription, digest: Buffer | null, name: string | null) {
        const installation = yield* findInstallation()
        const known = Option.getOrNull(yield* findHost(it.hostId))
        const wrongFolder = folderRefusal(it, installation.id, known, digest)
        if (wrongFolder !== null) return yield* wrongFolder
        if (name !== null) {
          // Two concurrent joins under one name are serialized.
          yield* sql`select pg_advisory_xact_lock(hashtextextended(${`host name ${name}`}, 0))`
          const namesake = yield* findNamesake({ name, hostId: it.hostId })
          if (Option.isSome(namesake)) return yield* nameRefusal(name, namesake.value)
        }
        const wrongProcess = known === null ? null : processRefusal(it, known, leaseMs)
        if (wrongProcess !== null) return yield* wrongProcess
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
        const left = yield* Effect.orDie(markLeft(hostId, boot))
        if (left.length > 0) yield* actors.tell(hostId, { type: "LEFT", boot, lostAfterMs })
      })

      return HostJoins.of({ join, beat, leave })
    })
  )
}
