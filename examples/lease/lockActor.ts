/** The lock as an actor: the machine, and what its one command does. */
import { ActorHost, defineActor } from "atoll/engine"
import { Context, Effect, Layer, Schema } from "effect"
import { type Grant, lockMachine } from "./lock.ts"

/** The way to the clients. False: there is no such client any more. */
export class Clients extends Context.Service<Clients, { readonly tell: (grant: Grant) => Effect.Effect<boolean> }>()(
  "lease/Clients"
) {}

const context = Schema.Struct({
  leaseMs: Schema.Number,
  holder: Schema.NullOr(Schema.String),
  token: Schema.Number,
  expiresAt: Schema.NullOr(Schema.Number),
  waiting: Schema.Array(Schema.String)
})

/** Registers the kind, then wakes its actors that have something to do. */
export const lockActors = Layer.effectDiscard(
  Effect.gen(function* () {
    const host = yield* ActorHost
    const { tell } = yield* Clients
    yield* host.register(
      defineActor(lockMachine, {
        context,
        commands: {
          tellHolder: {
            lane: "tell",
            run: (_, grant) =>
              Effect.map(tell(grant), (isThere) => (isThere ? null : { type: "GONE" as const, token: grant.token }))
          }
        }
      })
    )
    yield* host.recover
  })
)
