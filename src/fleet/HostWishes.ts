/**
 * Passes the operator's requests to the hosts' actors (`Hosts.ask`). It reads the rows at the start, at each notification and
 * whenever one may have been missed. A request is deleted only after the actor has taken or refused it.
 *
 * Every process listens; a request that an actor receives twice changes nothing.
 */
import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import type { hostMachine } from "../../machines/host.ts"
import { Asked } from "../../schemas/console/Hosts.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { worker } from "../platform/worker/Worker.ts"
import { DatabaseWatch } from "../store/DatabaseWatch.ts"
import { Notices, readAtEachNotice } from "../store/Notices.ts"
import { HostActors } from "./HostActors.ts"
import { hostsChannel } from "./Hosts.ts"

/** Retry interval for a request that could not be passed on, even without a notification. */
const againAfterMs = 5_000
/** A process that was frozen after its read reads again: by then another one may have passed on this request and a later one. */
const believedForMs = 1_000

const Wish = Schema.Struct({ asked: Asked, token: Schema.String })

const eventOf = (asked: Asked): EventOf<typeof hostMachine> =>
  asked === "REMOVE" || asked === "REMOVE_FORCED"
    ? { type: "REMOVE", isForced: asked === "REMOVE_FORCED" }
    : { type: asked }

const make = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const notices = yield* Notices
  const watch = yield* DatabaseWatch
  const actors = yield* HostActors

  const findAsked = SqlSchema.findAll({
    Request: Schema.Void,
    Result: Schema.Struct({ id: Schema.String }),
    execute: () => sql`select id from hosts where asked is not null order by id`
  })

  const findWish = SqlSchema.findOneOption({
    Request: Schema.String,
    Result: Wish,
    execute: (id) => sql`select asked, asked_token as token from hosts where id = ${id} and asked is not null`
  })

  const pass = Effect.fnUntraced(function* (id: string) {
    yield* actors.ensure(id)
    const readAt = performance.now()
    const found = yield* findWish(id)
    if (Option.isNone(found)) return true
    if (performance.now() - readAt > believedForMs) return false
    const { asked, token } = found.value
    const isTaken = yield* actors.tell(id, eventOf(asked), "operator")
    if (!isTaken) yield* Effect.logWarning(`The host ${id} does not take ${asked} as it stands`)
    // A newer request has another token.
    yield* sql`update hosts set asked = null, asked_token = null where id = ${id} and asked_token = ${token}`
    return true
  })

  const tell = ({ id }: { readonly id: string }) =>
    Effect.catchCause(pass(id), (cause) =>
      Effect.as(
        Effect.logWarning(`Could not pass the operator's request to the host ${id}; it will be retried`, cause),
        false
      )
    )

  /** True if all requests were passed on. Fails only with the database's faults. */
  const tellAll = Effect.gen(function* () {
    const found = yield* Effect.catchTag(findAsked(), "SchemaError", Effect.die)
    const told = yield* Effect.forEach(found, tell)
    return !told.includes(false)
  })

  // Listens before it reads, so that no request in between is missed.
  const listen = Effect.scoped(readAtEachNotice(notices, hostsChannel, watch.untilServed(tellAll), againAfterMs))
  yield* worker("host wishes", listen)
})

export const HostWishes = { layer: Layer.effectDiscard(make) }
