/**
 * Carries messages to actors that other processes own: one cluster entity for each kind, with volatile messages.
 *
 * The commit is durable, not the message: a lost message is a lost request, never a lost transition. A message whose answer was lost
 * may be sent again, so an event arrives at least once.
 */
import { Effect, Layer, Schema } from "effect"
import { Entity } from "effect/cluster"
import { Rpc } from "effect/rpc"
import { spanOf } from "../platform/trace/Tracing.ts"
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
    /** Unused; a process of the previous version still requires it. */
    attempts: Schema.Int,
    revision: Schema.Int
  },
  success: state,
  error: faults
})

/** Answers with the next committed state after a revision. */
const Follow = Rpc.make("Follow", { payload: { revision: Schema.Int }, success: state, error: faults })

type Fault = ActorError | KeyContended | ActorMoved | ActorFailed

/** The owner's side of the requests. */
export interface ActorOwner {
  readonly deliver: (id: string, message: Message) => void
  /** Calls back at most once; the returned effect cancels the request. */
  readonly follow: (
    id: string,
    revision: number,
    resume: (outcome: Effect.Effect<ActorState, Fault>) => void
  ) => Effect.Effect<void>
}

/** Requests to the owner of an actor. Any failure other than the typed errors means that no process answered. */
export interface ActorForward {
  readonly deliver: (id: string, message: Message) => Effect.Effect<ActorState, unknown>
  readonly follow: (id: string, revision: number) => Effect.Effect<ActorState, unknown>
}

/** Registers the kind with the cluster while the scope lasts, and returns the client to other processes. */
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
  // The actor's mailbox orders messages, so the entity handles them concurrently.
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
