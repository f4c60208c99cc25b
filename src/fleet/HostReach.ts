/**
 * Whether this service reaches any host that is in use. One that reaches none, while another one does (or it would not be in use any more), can do nothing
 * with its Sandboxes: a balancer should ask the other one.
 *
 * A few are asked in turn for what they have, so it costs the same however many there are.
 */
import { Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { HostEvidence } from "../actor/HostEvidence.ts"
import { textColumn } from "../store/Columns.ts"
import { worker } from "../worker/Worker.ts"
import { HostLinks } from "./HostLinks.ts"
import { startableStates } from "./hostStates.ts"

const lookEveryMs = 5_000
/** After a look that reached none. */
const lookAgainMs = 1_000
/** Looks in a row that reached none before it is believed. */
const missesMax = 2
const answersWithin = "2 seconds"
/** One of them is asked; where it does not answer, the others, at once. */
const hostsAsked = 4

/** Of a service without a fleet: it is its own host. */
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
      // Without a database nothing is known of hosts, and whoever asks is told of the database.
      Effect.catchTag(["SqlError", "SchemaError"], (error) => Effect.logDebug("Hosts were not looked up", error))
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
