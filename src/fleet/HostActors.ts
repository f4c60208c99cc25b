/** The hosts of a fleet as actors. A host's actor is created when the host first joins. */

import { Clock, Context, Effect, Layer, Queue, Schema } from "effect"
import { SqlClient, SqlSchema } from "effect/sql"
import { hostMachine } from "../../machines/host.ts"
import { Settings } from "../Config.ts"
import { ActorHost } from "../engine/ActorHost.ts"
import type { EventOf } from "../engine/machineTypes.ts"
import { worker } from "../platform/worker/Worker.ts"
import { operatorAccount } from "../store/Actors.ts"
import { type BootVerdict, bootsFailMax, HostBoots } from "./HostBoots.ts"
import { hostDefinition } from "./HostDefinition.ts"

const cause = "host"

export class HostActors extends Context.Service<
  HostActors,
  {
    /** Creates the actor if needed, also for a host that never joined: the fleet waits for the host of its time as a single host. */
    readonly ensure: (hostId: string) => Effect.Effect<void>
    /** Returns once the join of this process of the host is stored. */
    readonly joined: (hostId: string, boot: string) => Effect.Effect<void>
    /** Sends an event to the host's actor. False: it was refused, or there is no such host. */
    readonly tell: (hostId: string, event: EventOf<typeof hostMachine>, cause?: string) => Effect.Effect<boolean>
  }
>()("atoll/fleet/HostActors") {
  static readonly layer = Layer.effect(
    HostActors,
    Effect.gen(function* () {
      const host = yield* ActorHost
      const boots = yield* HostBoots
      const sql = yield* SqlClient.SqlClient
      const { hostLeaseMs: leaseMs } = yield* Settings
      yield* host.register(yield* hostDefinition)

      const send = (hostId: string, event: EventOf<typeof hostMachine>, by: string) =>
        host.send(hostMachine, hostId, event, { cause: by })

      const make = Effect.fnUntraced(function* (hostId: string, boot: string) {
        return yield* host.create(hostMachine, {
          id: hostId,
          // Hosts belong to no Sandbox.
          accountId: operatorAccount,
          sandboxId: "",
          input: { hostId, boot, leaseMs, at: yield* Clock.currentTimeMillis },
          payload: null,
          cause,
          requestId: null,
          idempotency: null
        })
      })

      const joined = Effect.fn("HostActors.joined")((hostId: string, boot: string) => {
        const tell = send(hostId, { type: "JOINED", boot, leaseMs }, cause)
        return tell.pipe(
          Effect.catchTag("ActorNotFound", () =>
            // Null: another process has just created it.
            Effect.flatMap(make(hostId, boot), (created) => (created !== null ? Effect.void : tell))
          ),
          Effect.orDie,
          Effect.asVoid
        )
      })

      const tell = (hostId: string, event: EventOf<typeof hostMachine>, by = cause) =>
        send(hostId, event, by).pipe(
          Effect.as(true),
          Effect.catchTag(["EventRefused", "ActorNotFound"], () => Effect.succeed(false)),
          Effect.orDie
        )

      const findBoot = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ boot: Schema.String }),
        execute: (hostId) => sql`select boot from hosts where id = ${hostId}`
      })

      const judge = Effect.fnUntraced(function* (verdict: BootVerdict) {
        const { hostId } = verdict
        const found = yield* findBoot(hostId)
        if (found._tag === "None") return
        const { boot } = found.value
        if (verdict.type === "work") return yield* tell(hostId, { type: "BOOTS_WORK", boot })
        const message = `${bootsFailMax} Sandboxes in a row did not boot there: ${verdict.message}`
        yield* tell(hostId, { type: "BOOTS_FAIL", boot, reason: { code: "BOOTS_FAIL", message } })
      })
      yield* worker(
        "host boots",
        Queue.take(boots.verdicts).pipe(
          Effect.flatMap((verdict) =>
            Effect.catchCause(judge(verdict), (cause) =>
              Effect.logWarning(`Could not report the boot result of host ${verdict.hostId}`, cause)
            )
          ),
          Effect.forever
        )
      )

      const findKnown = SqlSchema.findOneOption({
        Request: Schema.String,
        Result: Schema.Struct({ id: Schema.String }),
        execute: (hostId) => sql`select id from actors where id = ${hostId} and kind = 'host'`
      })
      const ensure = (hostId: string) =>
        Effect.flatMap(Effect.orDie(findKnown(hostId)), ({ _tag }) =>
          _tag === "Some" ? Effect.void : Effect.asVoid(make(hostId, ""))
        )

      return HostActors.of({ ensure, joined, tell })
    })
  )
}
