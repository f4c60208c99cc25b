/**
 * The way of a message to an actor that another process owns: one cluster entity a kind, volatile messages.
 *
 * Durability is not the message's but the commit's: a lost message is a lost request, never a lost transition. One whose answer was lost
 * may be sent again, so an event arrives at least once.
 */
import { Effect, Layer, Schema } from "effect"
import { Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import { spanOf } from "../trace/Tracing.ts"
import type { ActorState, AnyEvent } from "./ActorDefinition.ts"
import {
  type ActorError,
  ActorFailed,
  ActorMoved,
  ActorNotFound,
  EventRefused,
  KeyContended,
  MailboxFull
} from "./ActorError.ts"
import type { Message } from "./Message.ts"
import { toldDefect } from "./ownerDefect.ts"

const state = Schema.fromJsonString(Schema.Unknown)
const faults = Schema.Union([EventRefused, ActorNotFound, MailboxFull, KeyContended, ActorMoved, ActorFailed])

const Deliver = Rpc.make("Deliver", {
  payload: {
    event: Schema.NullOr(Schema.fromJsonString(Schema.Unknown)),
    cause: Schema.String,
    requestId: Schema.NullOr(Schema.String),
    idempotency: Schema.NullOr(Schema.Struct({ kind: Schema.String, key: Schema.String, fingerprint: Schema.String })),
    /** Not used any more; a process of the last version beside this one wants it. */
    attempts: Schema.Int,
    revision: Schema.Int
  },
  success: state,
  error: faults
})

/** Answers with the first committed state after a revision. */
const Follow = Rpc.make("Follow", { payload: { revision: Schema.Int }, success: state, error: faults })

type Fault = ActorError | KeyContended | ActorMoved | ActorFailed

/** What the owner does for others. */
export interface ActorOwner {
  readonly deliver: (id: string, message: Message) => void
  /** Calls back at most once; the effect takes the request back. */
  readonly follow: (
    id: string,
    revision: number,
    resume: (outcome: Effect.Effect<ActorState, Fault>) => void
  ) => Effect.Effect<void>
}

/** Ways to whoever owns an actor. Whatever fails besides the typed errors: nobody answered. */
export interface ActorForward {
  readonly deliver: (id: string, message: Message) => Effect.Effect<ActorState, unknown>
  readonly follow: (id: string, revision: number) => Effect.Effect<ActorState, unknown>
}

/** Registers the kind with the cluster for as long as the scope lasts; gives the client to other processes. */
export const actorEntity = Effect.fnUntraced(function* (kind: string, owner: ActorOwner) {
  const entity = Entity.make(kind, [Deliver, Follow])
  const handlers = Effect.gen(function* () {
    const { entityId } = yield* Entity.CurrentAddress
    return entity.of({
      Deliver: ({ payload }) =>
        Effect.withFiber<unknown, Fault>((fiber) =>
          Effect.callback<unknown, Fault>((resume) => {
            owner.deliver(entityId, {
              event: payload.event as AnyEvent | null,
              cause: payload.cause,
              requestId: payload.requestId,
              revision: payload.revision,
              done: null,
              deadline: null,
              idempotency: payload.idempotency,
              lookingSince: null,
              span: spanOf(fiber),
              succeed: (state) => resume(Effect.succeed(state)),
              fail: (error) => resume(Effect.fail(error)),
              die: (defect) => resume(Effect.fail(toldDefect(defect))),
              moved: () => resume(Effect.fail(new ActorMoved({ actorId: entityId })))
            })
          })
        ),
      Follow: ({ payload }) =>
        Effect.callback<unknown, Fault>((resume) => owner.follow(entityId, payload.revision, resume))
    })
  })
  // The mailbox is the actor's own, so the entity lets messages through side by side.
  yield* Layer.build(entity.toLayer(handlers, { concurrency: "unbounded", maxIdleTime: "1 minute" }))
  const client = yield* entity.client
  const forward: ActorForward = {
    deliver: (id, { event, cause, requestId, idempotency, revision }) =>
      client(id).Deliver({ event, cause, requestId, idempotency, attempts: 0, revision }) as Effect.Effect<
        ActorState,
        unknown
      >,
    follow: (id, revision) => client(id).Follow({ revision }) as Effect.Effect<ActorState, unknown>
  }
  return forward
})
