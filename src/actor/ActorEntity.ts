/**
 * The way of a message to an actor that another process owns: one cluster entity a kind, volatile messages.
 *
 * Durability is not the message's but the commit's: a lost message is a lost request, never a lost transition.
 */
import { Effect, Layer, Schema } from "effect"
import { Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import type { ActorState, AnyEvent } from "./ActorDefinition.ts"
import { type ActorError, ActorNotFound, EventRefused, MailboxFull } from "./ActorError.ts"
import type { Message } from "./Message.ts"

const Deliver = Rpc.make("Deliver", {
  payload: {
    event: Schema.NullOr(Schema.fromJsonString(Schema.Unknown)),
    cause: Schema.String,
    requestId: Schema.NullOr(Schema.String),
    attempts: Schema.Int
  },
  success: Schema.fromJsonString(Schema.Unknown),
  error: Schema.Union([EventRefused, ActorNotFound, MailboxFull])
})

export type ActorForward = (
  id: string,
  payload: {
    readonly event: AnyEvent | null
    readonly cause: string
    readonly requestId: string | null
    readonly attempts: number
  }
) => Effect.Effect<unknown, unknown>

/** Registers the kind with the cluster for as long as the scope lasts; gives the client to other processes. */
export const actorEntity = Effect.fnUntraced(function* (kind: string, deliver: (id: string, message: Message) => void) {
  const entity = Entity.make(kind, [Deliver])
  const handlers = Effect.gen(function* () {
    const { entityId } = yield* Entity.CurrentAddress
    return entity.of({
      Deliver: ({ payload }) =>
        Effect.callback<unknown, ActorError>((resume) => {
          deliver(entityId, {
            event: payload.event as AnyEvent | null,
            cause: payload.cause,
            requestId: payload.requestId,
            done: null,
            deadline: null,
            attempts: payload.attempts,
            succeed: (state) => resume(Effect.succeed(state)),
            fail: (error) => resume(Effect.fail(error)),
            die: (defect) => resume(Effect.die(defect))
          })
        })
    })
  })
  // The mailbox is the actor's own, so the entity lets messages through side by side.
  yield* Layer.build(entity.toLayer(handlers, { concurrency: "unbounded", maxIdleTime: "1 minute" }))
  const client = yield* entity.client
  return ((id, payload) => client(id).Deliver(payload)) as ActorForward
})

export const forwardTo = (forward: ActorForward, id: string, message: Message): Effect.Effect<ActorState, unknown> =>
  forward(id, {
    event: message.event,
    cause: message.cause,
    requestId: message.requestId,
    attempts: message.attempts
  }) as Effect.Effect<ActorState, unknown>
