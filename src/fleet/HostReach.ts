/**
 * Whether this service reaches any host in use. A service that reaches none, while another service does (or the hosts would not be in use), can do
 * nothing with its Sandboxes: a load balancer should use the other service.
 *
 * Each check asks a few hosts in turn for their inventory, so its cost does not depend on their number.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { HostEvidence } from "../engine/HostEvidence.ts"
import { worker } from "../platform/worker/Worker.ts"
import { textColumn } from "../store/Columns.ts"
import { HostLinks } from "./HostLinks.ts"
import { startableStates } from "./hostStates.ts"

const lookEveryMs = 5_000
/** Retry interval after a check that reached none. */
const lookAgainMs = 1_000
/** Failed checks in a row before the service counts as cut off. */
const missesMax = 2
const answersWithin = "2 seconds"
/** Hosts of one check: first one, and if it does not answer, the others concurrently. */
const hostsAsked = 4

/** The default is for a service without a fleet: it is its own host. */
export const HostReach = Context.Reference<{ readonly reaches: () => boolean }>("atoll/fleet/HostReach", {
  defaultValue: () => ({ reaches: () => true })
})

export const hostReachLayer = Layer.effect(
  HostReach,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const links = yield* HostLinks
    const evidence = yield* HostEvidence

    const findSome = SqlSchema.findAll({
      Request: Schema.Void,
      Result: Schema.Struct({ id: Schema.String }),
      execute: () => sql`
        select h.id from hosts h join actors a on a.id = h.id and a.kind = 'host'
        where a.status = any(${textColumn(startableStates)}::text[]) order by random() limit ${hostsAsked}`
    })

    const answers = ({ id }: { readonly id: string }) =>
      links.to(id).pipe(
        Effect.flatMap(({ inventory }) => inventory),
        Effect.timeout(answersWithin),
        Effect.as(true),
        Effect.catchCause(() => Effect.succeed(false))
      )

    let misses = 0
    const look = Effect.gen(function* () {
      const [first, ...others] = yield* findSome()
      const isReached =
        first === undefined ||
        (yield* answers(first)) ||
        (yield* Effect.forEach(others, answers, { concurrency: "unbounded" })).some(Boolean)
      misses = isReached ? 0 : misses + 1
      evidence.reachesHosts = misses < missesMax
    }).pipe(
      // Without a database the hosts are unknown, and callers learn of the database's fault.
      Effect.catchTag(["SqlError", "SchemaError"], (error) => Effect.logDebug("Could not look up hosts", error))
    )
    yield* worker(
      "host reach",
      Effect.andThen(
        look,
        Effect.suspend(() => Effect.sleep(misses > 0 ? lookAgainMs : lookEveryMs))
      ).pipe(Effect.forever)
    )
    return { reaches: () => misses < missesMax }
  })
)
