/** The Placement of a service whose Sandboxes live on hosts: the create's own transaction reserves capacity. */
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { standingIn } from "../../machines/host.ts"
import { UnsupportedByRuntime } from "../../schemas/Errors.ts"
import { Settings } from "../Config.ts"
import { hostLostMessage } from "../sandbox/hostLost.ts"
import { type Place, Placement, type Standing } from "../sandbox/Placement.ts"
import { Int8, textColumn } from "../store/Columns.ts"
import { HostFeeds } from "./HostFeeds.ts"
import { isStartable, removedHostStates } from "./hostStates.ts"
import { placesFor, Reservations } from "./Reservations.ts"
import type { Asked, Survey } from "./roomStatements.ts"
import { snapshotCopyStatements } from "./snapshotCopyStatements.ts"

/** Retry delays, and their total, while hosts with capacity are locked by other reservations. */
const busyMs = { least: 1, more: 5, most: 10_000 }

const HostRow = Schema.Struct({
  /** Null: the host has never joined. A service waits for the host on which an Atoll of the role `all` kept its Sandboxes. */
  status: Schema.NullOr(Schema.String),
  seen_at: Int8,
  suspends: Schema.Boolean,
  driver: Schema.String,
  /** Its volume was on the host and is missing now. */
  is_missing: Schema.Boolean
})

const standingOf = ({ status, seen_at: seenAt }: typeof HostRow.Type): Standing => {
  const is = standingIn(status)
  return is === "there" || is === "silent" ? { is } : { is, seenAt }
}

const obstacleOf = (host: typeof HostRow.Type): string | null => {
  const standing = standingOf(host)
  switch (standing.is) {
    case "lost":
    case "gone":
      return hostLostMessage(standing)
    case "silent":
      return "The host of this Sandbox does not answer now. Try again in a minute."
    case "there":
      // A start would make a new, empty volume without a warning.
      if (host.is_missing) {
        return "The volume of this Sandbox is missing on its host. Ask the operator for it, or delete the Sandbox."
      }
      return isStartable(host.status)
        ? null
        : "The operator is draining the host of this Sandbox. Its volume is kept, and can be used again once that host takes Sandboxes."
  }
}

const refusalOf = (
  { kind, networkEnabled, hostId = null, image, builder }: Asked,
  { ofKind, withNetwork, withImages, withBuilds }: Survey
) => {
  if (kind !== null && ofKind === 0 && hostId === null) {
    return new UnsupportedByRuntime({
      message: `No host of this server has Sandboxes of the runtime ${kind}. Send another runtime, or none.`
    })
  }
  if (networkEnabled && ofKind > 0 && withNetwork === 0) {
    return new UnsupportedByRuntime({
      message: "No host of this server can give its Sandboxes a network. Send networkEnabled false."
    })
  }
  if (image !== undefined && ofKind > 0 && withImages === 0) {
    return new UnsupportedByRuntime({
      message: "No host of this server can give its Sandboxes an image as their root. Send no imageId."
    })
  }
  if (builder === true && ofKind > 0 && withBuilds === 0) {
    return new UnsupportedByRuntime({
      message:
        kind === null
          ? "No host of this server can build images."
          : `No host of this server with Sandboxes of the runtime ${kind} can build images.`
    })
  }
  return null
}

export const FleetPlacement = {
  layer: Layer.effect(
    Placement,
    Effect.gen(function* () {
      const reservations = yield* Reservations
      const feeds = yield* HostFeeds
      const sql = yield* SqlClient.SqlClient
      const copies = yield* snapshotCopyStatements
      const { fleetRuntime, hostLeaseMs } = yield* Settings

      const findHost = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: HostRow,
        execute: (sandboxId) => sql`
          select a.status, h.seen_at, h.suspends, h.driver, p.is_missing
          from host_promises p join hosts h on h.id = p.host_id left join actors a on a.id = h.id and a.kind = 'host'
          where p.sandbox_id = ${sandboxId}`
      })

      const findKind = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ id: Schema.String }),
        execute: (kind) => sql`
          select h.id from hosts h where h.kind = ${kind} and not exists (
            select 1 from actors a where a.id = h.id and a.kind = 'host' and a.status = any(${textColumn(removedHostStates)}::text[]))
          limit 1`
      })

      /** @param none The result for a Sandbox without a host. */
      const ofHost = <A>(sandboxId: string, none: A, some: (host: typeof HostRow.Type) => A) =>
        Effect.map(Effect.orDie(findHost(sandboxId)), Option.match({ onNone: () => none, onSome: some }))

      /** While hosts with room are locked by other reservations, it tries again. */
      const taken = Effect.fnUntraced(function* (asked: Asked) {
        const giveUpAt = performance.now() + busyMs.most
        while (true) {
          const place = yield* reservations.take(asked)
          if (place !== null) return { place, survey: null }
          const survey = yield* reservations.survey(asked)
          if (survey.fitting === 0 || performance.now() > giveUpAt) return { place: null, survey }
          yield* Effect.sleep(busyMs.least + Math.random() * busyMs.more)
        }
      })

      const place = Effect.fnUntraced(function* (wanted: Asked): Effect.fn.Return<Place, UnsupportedByRuntime> {
        const { hostId = null, snapshotId = null, isBound = false } = wanted
        const places = snapshotId === null || hostId === null || isBound ? null : yield* copies.places(snapshotId)
        const hosts = hostId === null ? [null] : placesFor({ hostId, isBound, copies: places?.copies ?? [] })
        let found: Survey | null = null
        for (const at of hosts) {
          const { place, survey } = yield* taken({ ...wanted, hostId: at })
          if (place !== null) return place
          found = survey
        }
        const refusal = refusalOf({ ...wanted, hostId: isBound ? hostId : null }, found!)
        if (refusal !== null) return yield* refusal
        return { hostId: null, runtime: wanted.kind ?? found!.kind ?? "namespace" }
      })

      return Placement.of({
        usual: fleetRuntime === "any" ? null : fleetRuntime,
        offers: (kind) => Effect.map(Effect.orDie(findKind(kind)), Option.isSome),
        place: ({ runtime, ...wanted }) =>
          place({
            ...wanted,
            kind: runtime ?? (fleetRuntime === "any" || wanted.builder === true ? null : fleetRuntime)
          }),
        hostOf: reservations.hostOf,
        resize: reservations.resize,
        obstacle: (sandboxId) => ofHost(sandboxId, null, obstacleOf),
        standing: (sandboxId) => ofHost<Standing>(sandboxId, { is: "there" }, standingOf),
        unsureForMs: hostLeaseMs,
        suspends: (sandboxId) => ofHost(sandboxId, false, ({ suspends }) => suspends),
        // A machine that can sleep can be saved. A host of an older version says so when it is asked.
        keepsMemory: (sandboxId) => ofHost(sandboxId, false, ({ suspends, driver }) => suspends && driver === "qemu"),
        supervised: feeds.supervised,
        leave: reservations.lower,
        release: reservations.release
      })
    })
  )
}
