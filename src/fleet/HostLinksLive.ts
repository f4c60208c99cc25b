/**
 * Connections to the hosts by their rows: one runtime for each, kept while the host has the same address and certificate name. It reconnects to
 * the host's next process; replacing the runtime would break calls in progress. While a host is used, its row is read again from time to time, in
 * the background.
 */

import { Effect, Exit, Layer, Schema, Scope } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { publicText } from "../../schemas/PublicText.ts"
import type { PeerPlace } from "../peer/PeerSockets.ts"
import { lockByKey } from "../platform/concurrency/lockByKey.ts"
import { type Runtime, RuntimeUnavailable } from "../runtime/Runtime.ts"
import { HostBoots } from "./HostBoots.ts"
import { HostLinks } from "./HostLinks.ts"

type HostRuntime = Runtime["Service"]

const lookAgainMs = 500

interface Link {
  readonly place: PeerPlace
  readonly runtime: HostRuntime
  readonly scope: Scope.Closeable
  lookedAt: number
  isLooking: boolean
}

const Row = Schema.Struct({ host: Schema.String, port: Schema.Int, name: Schema.NullOr(Schema.String) })

/** If the host does not answer, a failed boot is the connection's fault, not the host's. */
const answersWithin = "2 seconds"

/** The same runtime with counted boots. */
const counted = (
  hostId: string,
  runtime: HostRuntime,
  boots: HostBoots["Service"],
  scope: Scope.Scope
): HostRuntime => {
  const failed = (sandboxId: string, message: string) =>
    runtime.inventory.pipe(
      Effect.timeout(answersWithin),
      Effect.matchEffect({
        onFailure: () => Effect.void,
        onSuccess: () => boots.failed(hostId, sandboxId, message)
      }),
      Effect.forkIn(scope)
    )
  const provision: HostRuntime["provision"] = (spec, turn) =>
    runtime.provision(spec, turn).pipe(
      // In the background.
      Effect.tap(() => Effect.forkIn(boots.worked(hostId), scope)),
      // What fails may be the registry of the Sandbox's image, which a customer chose.
      Effect.tapError((error) =>
        error instanceof RuntimeUnavailable && spec.image === undefined
          ? failed(spec.sandboxId, error.message)
          : Effect.void
      )
    )
  // The other properties may change, so they are read from the original.
  return Object.create(runtime, { provision: { value: provision, enumerable: true } })
}

/** Makes a host's runtime, which reconnects while the scope lasts. */
export type Dial<R> = (hostId: string, to: PeerPlace) => Effect.Effect<HostRuntime, RuntimeUnavailable, R | Scope.Scope>

export const hostLinksLayer = <R>(dial: Dial<R>) =>
  Layer.effect(
    HostLinks,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const boots = yield* HostBoots
      const context = yield* Effect.context<R>()
      const here = yield* Effect.scope
      const links = new Map<string, Link>()
      const lockHost = yield* lockByKey

      const findRow = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Row,
        execute: (hostId) => sql`
          select address_host as host, address_port as port, cert_name as name from hosts where id = ${hostId}`
      })

      const unknown = RuntimeUnavailable.known(publicText`The host of the Sandbox has not joined.`)

      const drop = (hostId: string, link: Link) =>
        Effect.suspend(() => {
          if (links.get(hostId) === link) links.delete(hostId)
          return Scope.close(link.scope, Exit.void)
        })

      /** Concurrent callers wait for one lookup and share its result. */
      const look = (hostId: string): Effect.Effect<Link, RuntimeUnavailable> =>
        Effect.gen(function* () {
          const row = yield* Effect.orDie(findRow(hostId))
          const known = links.get(hostId)
          // The host of the time as a single host has no address before it joins.
          if (row._tag === "None" || row.value.port === 0) return yield* unknown
          const { host, port, name } = row.value
          if (known !== undefined) {
            known.lookedAt = performance.now()
            const { place } = known
            if (place.host === host && place.port === port && place.name === name) return known
            yield* drop(hostId, known)
          }
          const scope = yield* Scope.fork(here)
          const place = { host, port, name }
          const runtime = yield* dial(hostId, place).pipe(
            Effect.provideService(Scope.Scope, scope),
            Effect.provide(context),
            Effect.onError(() => Scope.close(scope, Exit.void))
          )
          const link: Link = {
            place,
            runtime: counted(hostId, runtime, boots, scope),
            scope,
            lookedAt: performance.now(),
            isLooking: false
          }
          links.set(hostId, link)
          return link
        }).pipe(lockHost(hostId))

      const lookLater = (hostId: string, link: Link) => {
        link.isLooking = true
        return look(hostId).pipe(
          Effect.ignore,
          Effect.catchCause((cause) => Effect.logDebug(`Could not look up the host ${hostId}`, cause)),
          Effect.ensuring(
            Effect.sync(() => {
              link.isLooking = false
              link.lookedAt = performance.now()
            })
          ),
          Effect.forkIn(here)
        )
      }

      return HostLinks.of({
        to: (hostId) =>
          Effect.suspend(() => {
            const link = links.get(hostId)
            if (link === undefined) return Effect.map(look(hostId), ({ runtime }) => runtime)
            const isOld = !link.isLooking && performance.now() - link.lookedAt > lookAgainMs
            return isOld ? Effect.as(lookLater(hostId, link), link.runtime) : Effect.succeed(link.runtime)
          })
      })
    })
  )
